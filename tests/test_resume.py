"""What stands of a run that a session goes on with."""

from __future__ import annotations

from pathlib import Path

from synthetic import case

from pytest_ngraph.resume import Resumed
from pytest_ngraph.store import Death, Journal, Run

CASE = case("tvm", 8)


def test_a_case_that_crashed_too_often_counts_as_begun_now(tmp_path: Path) -> None:
    """Of equal cases the one begun last counts: an earlier run's measurement of this one does not any more."""
    run = Run(id="1", deaths={CASE: Death(2, "compile")}, whole=False)
    resumed = Resumed(run, Journal(tmp_path, {}), retries=1)
    assert resumed.stands(CASE, lambda record: {})
    record = resumed.kept[CASE]
    assert record.failure is not None
    assert record.failure.kind == "crashed"
    assert record.started_at > 0
