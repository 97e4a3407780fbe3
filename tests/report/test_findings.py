"""Findings on the terminal; `test_summary` has more of them, as parts of a summary."""

from __future__ import annotations

from synthetic import case, failed, measured, noisy

from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record
from pytest_ngraph.report.findings import findings


def texts(records: list[Record]) -> list[str]:
    return [line.text for line in findings(compute(records), (), width=200)]


def test_break_even_has_its_interval() -> None:
    """A compiler that is as fast as identity within noise may pay back compiling, or never."""
    identity = noisy(case("identity"), 0.01, spread=0.02, seed=1)
    alike = noisy(case("tvm"), 0.01, spread=0.02, seed=2, compile_s=2.0)
    assert "  resnet18, tvm on xeon: 15598 samples [9915 samples, never] at b=1" in texts([identity, alike])


def test_why_a_stack_has_no_slope_is_said_in_full() -> None:
    blocks = [case("tvm", 8, workload="conv", depth=depth, width=64) for depth in (1, 2)]
    assert texts([measured(each, 0.1) for each in blocks])[-2:] == [
        "  depth_slope of conv-tvm-b8-w64-xeon: identity was not measured at batch size 8, depth 1",
        "  depth_retention of conv-tvm-b8-w64-xeon: identity was not measured at batch size 8, depth 2",
    ]
    assert texts([measured(blocks[0], 0.1), failed(blocks[1])])[-1] == (
        "  depth_retention of conv-tvm-b8-w64-xeon: tvm at batch size 8, depth 2 failed in compile"
    )
