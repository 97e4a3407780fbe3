"""What the notes below a block say of a model under load."""

from __future__ import annotations

from dataclasses import replace

import pytest
from synthetic import under_load

from pytest_ngraph.metrics import compute
from pytest_ngraph.report.notes import notes

ENDED = "a worker failed while measuring: crashed with SIGSEGV"


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ((50.0, 51.0), f"? max rate of tvm at batch size 1: by 2 rates only, then the load ended: {ENDED}"),
        ((), f"- max rate of tvm at batch size 1: {ENDED}"),
    ],
)
def test_why_a_load_ended_is_said(shown: tuple[float, ...], expected: str) -> None:
    record = under_load("tvm", 0.01, *shown)
    assert record.load is not None
    record = replace(record, load=replace(record.load, problem=ENDED))
    assert expected in list(notes([record], compute([record]), ()))


def test_a_limit_that_no_rate_kept_is_said() -> None:
    record = under_load("tvm", 0.01, 0.0, 0.0)
    assert record.load is not None
    slow = tuple(replace(rate, seconds=(0.2,) * 100) for rate in record.load.rates)
    record = replace(record, load=replace(record.load, rates=slow))
    metrics = compute([record])
    assert metrics[record.case]["max_rate"].estimate == (0, 0, 0)
    assert any("none of the rates that were measured kept the limit" in note for note in notes([record], metrics, ()))
