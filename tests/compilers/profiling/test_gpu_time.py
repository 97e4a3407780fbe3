"""Kernels of a GPU count for the spans in which they were launched. The events are as an H200 reported them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from explained import node

from pytest_ngraph.compilers.profiling import pytorch
from pytest_ngraph.compilers.profiling.gpu_time import Launch, launches, plain, timed_by_kernels
from pytest_ngraph.compilers.profiling.pytorch import MODULE
from pytest_ngraph.compilers.profiling.timeline import Span

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


def test_a_kernel_is_found_at_the_moment_of_its_launch() -> None:
    events = [
        event("ngraph module conv", "CPU", 12, 0, 0, 100),
        event("aten::conv2d", "CPU", 5, 0, 10, 50),
        event("cudaPeekAtLastError", "CPU", 11, 5, 20, 1),
        event("cudaLaunchKernelExC", "CPU", 12, 5, 30, 10),
        event(CONVOLUTION, "CUDA", 12, 5, 500, 21504),
        event("ngraph module conv", "CUDA", 12, 0, 500, 21504),
        event("cudaLaunchKernel", "CPU", 22, 8, 70, 10),
        event(ADDITION, "CUDA", 22, 8, 30000, 9984),
    ]
    assert launches(events) == [Launch(CONVOLUTION, 30, 21504), Launch("elementwise_kernel", 70, 9984)]


def test_a_span_takes_as_long_as_the_kernels_that_were_launched_in_it() -> None:
    spans = [
        Span(MODULE, 0, 100),
        Span(f"{MODULE}conv", 5, 60),
        Span("aten::conv2d", 10, 50),
        Span("aten::cudnn_convolution", 15, 45),
        Span("aten::add_", 65, 90),
        Span("aten::view", 91, 95),
    ]
    launched = [Launch("to_nhwc", 20, 2000), Launch("gemm", 30, 6000), Launch("elementwise_kernel", 70, 1000)]
    (network,) = timed_by_kernels(spans, launched)
    assert network.seconds == pytest.approx(9e-6)
    conv, add, view = pytorch.kernels([network], 2, [node("conv2d_3", "conv", "conv2d")], "cuda")
    assert (conv.operator, conv.kind, conv.nodes) == ("conv2d", "gemm", ("conv2d_3",))
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
