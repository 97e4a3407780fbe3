"""Spans of eager PyTorch become kernels of modules."""

from __future__ import annotations

import pytest
from explained import node

from pytest_ngraph.compilers.profiling.operators import MODULE, kernels
from pytest_ngraph.compilers.profiling.timeline import Span, nested
from pytest_ngraph.explain.profile import PYTHON


def test_operators_count_for_the_module_that_calls_them() -> None:
    second = 10**9
    spans = [
        Span(MODULE, 0, 10 * second),
        Span(f"{MODULE}conv", 1 * second, 5 * second),
        Span("aten::conv2d", 1 * second, 4 * second),
        Span("aten::mkldnn_convolution", 1 * second, 4 * second),
        Span("aten::add_", 6 * second, 7 * second),
    ]
    conv, add, *others = kernels(nested(spans), 2, [node("conv2d_3", "conv", "conv2d")], "cpu")
    assert {kernel.operator for kernel in others} == {PYTHON}
    assert (conv.operator, conv.kind) == ("conv2d", "mkldnn_convolution")
    assert (conv.seconds, add.seconds) == pytest.approx((1.5, 0.5))
    assert (conv.nodes, conv.modules) == (("conv2d_3",), ("conv",))
    assert (add.operator, add.modules) == ("add", ("",))


def test_the_rest_of_a_modules_time_is_spent_in_python() -> None:
    """Also that of an operator in Python which calls others."""
    second = 10**9
    spans = [
        Span(MODULE, 0, 20 * second),
        Span(f"{MODULE}norm", 1 * second, 13 * second),
        Span("mine::norm", 2 * second, 12 * second),
        Span("aten::mean", 4 * second, 7 * second),
        Span("aten::add_", 14 * second, 18 * second),
    ]
    found = kernels(nested(spans), 2, [], "cpu")
    seconds = {(kernel.operator, kernel.modules): kernel.seconds for kernel in found}
    assert seconds == pytest.approx(
        {("mean", ("norm",)): 1.5, ("add", ("",)): 2.0, (PYTHON, ("",)): 2.0, (PYTHON, ("norm",)): 4.5}
    )
    assert sum(seconds.values()) == pytest.approx(10.0)


def test_on_a_gpu_no_time_is_spent_in_python() -> None:
    """There, the clock of the spans only runs while kernels do."""
    operator = Span("aten::relu", 0, 7, [Span("relu_kernel", 0, 7)])
    (relu,) = kernels([Span(MODULE, 0, 7, [operator])], 1, [], "cuda")
    assert relu.operator == "relu"


def test_an_operator_that_a_module_calls_twice_runs_twice() -> None:
    spans = [Span("aten::add", 10 * at, 10 * at + 5) for at in range(6)]
    nodes = [node("add", "", "add"), node("add_1", "", "add")]
    add, python = kernels([Span(MODULE, 0, 100, spans)], 3, nodes, "cpu")
    assert python.operator == PYTHON
    assert (add.nodes, add.runs) == (("add", "add_1"), 2)


@pytest.mark.parametrize(("copies", "computes"), [(1, 8), (8, 1)])
def test_the_kind_of_a_kernel_is_the_same_however_long_its_parts_take(copies: int, computes: int) -> None:
    whole = Span("aten::linear", 0, 10, [Span("aten::t", 0, 1, [Span("aten::transpose", 0, 1)])])
    whole.inner.append(Span("aten::addmm", 1, 10, [Span("aten::copy_", 1, 1 + copies)]))
    whole.inner[-1].end = 1 + copies + computes
    (kernel,) = kernels([whole], 1, [], "cpu")
    assert kernel.kind == "addmm"
