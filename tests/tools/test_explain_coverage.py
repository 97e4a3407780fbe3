"""The tables of `tools/explain_coverage.py`."""

from __future__ import annotations

from types import SimpleNamespace

import explain_coverage
import pytest
from explained import kernel, node, profile

from pytest_ngraph.case import Case
from pytest_ngraph.explain.explanation import explain

CASE = Case(workload="resnet18", compiler="inductor", batch_size=1)


def explained(mapped: float, again_s: float = 0.0) -> explain_coverage.Explained:
    kernels = [kernel("a", mapped, ["conv2d"]), kernel("?", 1 - mapped)]
    return explain_coverage.Explained(explain([profile(kernels, [node("conv2d", "stem")], 1.25)]), 3.21, again_s)


def test_each_compiler_has_a_row_and_each_refusal_its_reason() -> None:
    found: dict[str, dict[str, explain_coverage.Explained | str]] = {
        "openvino": {"resnet18": explained(0.9, again_s=0.44)},
        "tvm": {"resnet18": explained(1.0)},
        "executorch": {"resnet18": "no method instrument"},
    }
    lines = explain_coverage.report(found).splitlines()
    assert [line for line in lines if line.startswith("| `openvino`")] == [
        "| `openvino` | 80.0 % |",
        "| `openvino` | 90.0 % |",
        "| `openvino` | 3.2 s (0.4 s) |",
    ]
    assert [line for line in lines if line.startswith("| `tvm`")][-1] == "| `tvm` | 3.2 s |"
    assert "| `executorch` | – |" in lines
    assert lines[-1] == "- `executorch` on resnet18: no method instrument"


def test_the_seconds_of_compiling_once_more_are_those_between_its_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([1.0, 2.0, 10.0, 12.5, 13.0])
    monkeypatch.setattr(explain_coverage, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    prepared = explain_coverage.Prepared()
    prepared.phase(CASE, "compile")
    prepared.doing(CASE, "of compiling what is timed")
    prepared.phase(CASE, "verify")
    assert (prepared.at, prepared.again_s) == (10.0, 0.0)
    prepared.doing(CASE, "compiling once more")
    prepared.doing(CASE, "profiling")
    assert (prepared.at, prepared.again_s) == (10.0, 0.5)


def test_what_is_the_same_everywhere_stands_once() -> None:
    lines = explain_coverage.report({name: {"resnet18": explained(0.9)} for name in ("openvino", "tvm")}).splitlines()
    assert "Of the profiled time, in modules and layout changes: 90.0 %, everywhere." in lines
