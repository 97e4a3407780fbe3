"""What profilers report becomes kernels with seconds per call."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.compilers.profiling import onnxruntime
from pytest_ngraph.compilers.profiling.matching import Known
from pytest_ngraph.compilers.profiling.timeline import Span, nested


def test_spans_are_nested_by_time() -> None:
    inner, outer, after = Span("inner", 2, 4), Span("outer", 1, 5), Span("after", 5, 9)
    assert nested([after, inner, outer]) == [outer, after]
    assert outer.inner == [inner]
    assert outer.seconds == pytest.approx(4e-9)


def test_the_first_run_of_a_session_does_not_count() -> None:
    def event(name: str, at: int, microseconds: int, category: str = "Node") -> dict[str, Any]:
        described = {"op_name": "Conv", "provider": "CPUExecutionProvider"}
        return {"cat": category, "name": name, "ts": at, "dur": microseconds, "args": described}

    events = [
        event("model_run", 0, 100, "Session"),
        event("conv_kernel_time", 1, 90),
        event("model_run", 200, 30, "Session"),
        event("conv_kernel_time", 201, 20),
        event("model_run", 300, 30, "Session"),
        event("conv_kernel_time", 301, 22),
    ]
    (conv,) = onnxruntime.kernels(events, 2, {"conv": Known()})
    assert (conv.name, conv.operator, conv.provider) == ("conv", "Conv", "CPUExecutionProvider")
    assert conv.seconds == pytest.approx(21e-6)


def test_operators_of_a_subgraph_count_in_the_operator_that_runs_it() -> None:
    def event(name: str, operator: str, at: int, microseconds: int) -> dict[str, Any]:
        described = {"op_name": operator, "provider": "CPUExecutionProvider"}
        return {"cat": "Node", "name": f"{name}_kernel_time", "ts": at, "dur": microseconds, "args": described}

    events = [
        event("branch", "If", 10, 50),
        event("inside", "Conv", 12, 40),
        event("after", "Relu", 60, 5),
    ]
    found = onnxruntime.kernels(events, 1, {})
    assert {kernel.name: kernel.seconds for kernel in found} == pytest.approx({"branch": 50e-6, "after": 5e-6})
