"""The tables of `tools/explain_coverage.py`."""

from __future__ import annotations

import explain_coverage
from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain


def explained(mapped: float, again_s: float | None = None) -> explain_coverage.Explained:
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


def test_what_is_the_same_everywhere_stands_once() -> None:
    lines = explain_coverage.report({name: {"resnet18": explained(0.9)} for name in ("openvino", "tvm")}).splitlines()
    assert "Of the profiled time, in modules and layout changes: 90.0 %, everywhere." in lines
