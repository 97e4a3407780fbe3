"""The tables of `tools/compiler_gains.py`."""

from __future__ import annotations

import compiler_gains
from synthetic import case, failed, measured

from pytest_ngraph.case import Case


def test_the_mean_is_geometric_and_over_the_models_that_ran() -> None:
    def of(model: str, compiler: str) -> Case:
        return case(compiler, workload=f"mine:{model}")

    records = [
        measured(of("small", "identity"), 0.4),
        measured(of("small", "tvm"), 0.2),
        measured(of("large", "identity"), 0.8),
        measured(of("large", "tvm"), 0.1),
        measured(of("small", "openvino"), 0.4),
        failed(of("large", "openvino")),
    ]
    report = compiler_gains.report(records).splitlines()
    tvm, openvino = (next(line for line in report if line.startswith(f"| `{name}`")) for name in ("tvm", "openvino"))
    assert "| compiler | mine:small | mine:large | geometric mean |" in report
    assert tvm.endswith("| 4.00 |")
    assert openvino.split("|")[3].strip() == compiler_gains.ABSENT
    assert any(line.startswith("- `openvino` on mine:large ") for line in report)
