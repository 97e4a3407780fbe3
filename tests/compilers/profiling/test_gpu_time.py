"""Kernels of a GPU count for the spans in which they were launched. The events are as an H200 reported them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from explained import node

from pytest_ngraph.compilers.profiling import operators
from pytest_ngraph.compilers.profiling.gpu_time import Launch, is_span, launches, plain, timed_by_kernels
from pytest_ngraph.compilers.profiling.operators import MODULE
from pytest_ngraph.compilers.profiling.timeline import Span, nested

CONVOLUTION = "sm80_xmma_fprop_implicit_gemm_f32f32"
ADDITION = "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::Add(float)> >(int)"


def event(name: str, device: str, correlation: int, linked: int, start: int, nanoseconds: int) -> Any:
    values = {
        "name": name,
        "device_type": SimpleNamespace(name=device),
        "correlation_id": correlation,
        "linked_correlation_id": linked,
        "start_ns": start,
        "duration_ns": nanoseconds,
    }
    return SimpleNamespace(**{key: lambda value=value: value for key, value in values.items()})


def span_of(each: Any) -> Span:
    return Span(each.name(), each.start_ns(), each.start_ns() + each.duration_ns())


def test_a_kernel_is_linked_to_the_operator_that_launched_it() -> None:
    events = [
        event("ngraph module conv", "CPU", 3, 0, 0, 100),
        event("aten::conv2d", "CPU", 5, 0, 10, 50),
        event("Activity Buffer Request", "CPU", 5, 0, 12, 5),
        event("cudaPeekAtLastError", "CPU", 11, 5, 20, 1),
        event("cudaLaunchKernelExC", "CPU", 12, 5, 30, 10),
        event(CONVOLUTION, "CUDA", 12, 5, 500, 21504),
        event("ngraph module conv", "CUDA", 3, 0, 500, 21504),
        event("aten::add_", "CPU", 8, 0, 65, 20),
        event("cudaLaunchKernel", "CPU", 22, 8, 70, 10),
        event(ADDITION, "CUDA", 22, 8, 30000, 9984),
    ]
    spans = [(each, span_of(each)) for each in events if is_span(each)]
    outermost = nested(span for _, span in spans)
    found = launches(events, spans)
    assert [(each.kernel, each.by.name, each.nanoseconds) for each in found] == [
        (CONVOLUTION, "aten::conv2d", 21504),
        ("elementwise_kernel", "aten::add_", 9984),
    ]
    (module,) = timed_by_kernels(outermost, found)
    assert [span.name for span in module.inner] == ["aten::conv2d", "aten::add_"]
    assert [span.seconds for span in module.inner] == pytest.approx([21504e-9, 9984e-9])


def test_a_span_takes_as_long_as_the_kernels_that_were_launched_in_it() -> None:
    convolution, addition = Span("aten::cudnn_convolution", 15, 45), Span("aten::add_", 65, 90)
    spans = [
        Span(MODULE, 0, 100),
        Span(f"{MODULE}conv", 5, 60),
        Span("aten::conv2d", 10, 50),
        convolution,
        addition,
        Span("aten::view", 91, 95),
    ]
    launched = [
        Launch("to_nhwc", convolution, 20, 2000),
        Launch("gemm", convolution, 30, 6000),
        Launch("elementwise_kernel", addition, 120, 1000),  # the driver's clock may differ from that of spans
    ]
    (network,) = timed_by_kernels(nested(spans), launched)
    assert network.seconds == pytest.approx(9e-6)
    conv, add, view = operators.kernels([network], 2, [node("conv2d_3", "conv", "conv2d")], "cuda")
    assert (conv.operator, conv.kind, conv.nodes) == ("conv2d", "to_nhwc+gemm", ("conv2d_3",))
    assert (add.operator, add.kind, add.provider) == ("add", "elementwise_kernel", "cuda")
    assert (conv.seconds, add.seconds, view.seconds) == pytest.approx((4e-6, 0.5e-6, 0))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (CONVOLUTION, CONVOLUTION),
        (ADDITION, "elementwise_kernel"),
        ("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)", "softmax_warp_forward"),
        ("Memset (Device)", "Memset"),
        ("triton_poi_fused_relu_1", "triton_poi_fused_relu_1"),
    ],
)
def test_the_name_of_a_kernel_is_short(kernel: str, name: str) -> None:
    assert plain(kernel) == name
