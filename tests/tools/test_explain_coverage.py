"""The tables of `tools/explain_coverage.py`."""

from __future__ import annotations

import explain_coverage
from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import explain


def test_each_compiler_has_a_row_and_each_refusal_its_reason() -> None:
    kernels = [kernel("a", 0.9, ["conv2d"]), kernel("?", 0.1)]
    known = explain_coverage.Explained(explain([profile(kernels, [node("conv2d", "stem")], 1.25)]), 3.21)
    found: dict[str, dict[str, explain_coverage.Explained | str]] = {
        "openvino": {"resnet18": known},
        "executorch": {"resnet18": "no method instrument"},
    }
    lines = explain_coverage.report(found).splitlines()
    assert [line for line in lines if line.startswith("| `openvino`")] == [
        "| `openvino` | 80.0 % |",
        "| `openvino` | 90.0 % |",
        "| `openvino` | 3.2 s |",
    ]
    assert "| `executorch` | – |" in lines
    assert lines[-1] == "- `executorch` on resnet18: no method instrument"
