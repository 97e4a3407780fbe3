"""What stands of a run that a session goes on with."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case

from pytest_ngraph.machine.machine import environment
from pytest_ngraph.session.resume import ResumedRun
from pytest_ngraph.store import Death, Journal, Run, read, run_ids

CASE = case("tvm", 8)


def test_a_case_that_crashed_too_often_counts_as_begun_now(tmp_path: Path) -> None:
    """Of equal cases the one begun last counts: an earlier run's measurement of this one does not any more."""
    run = Run(id="1", deaths={CASE: Death(2, "compile")}, whole=False)
    resumed = ResumedRun(run, Journal(tmp_path, {}), retries=1)
    assert resumed.stands(CASE, lambda record: {})
    record = resumed.kept[CASE]
    assert record.failure is not None
    assert record.failure.kind == "crashed"
    assert record.started_at > 0


def test_a_run_of_which_a_part_was_selected_is_gone_on_with_once_more(quick_project: pytest.Pytester) -> None:
    store = quick_project.path / ".ngraph"
    journal = Journal(store, environment(), lambda: [f"plain-mine:Exact-b{size}-cpu" for size in (1, 4)])
    journal.describe_device("cpu", {})
    journal.close()
    for selection, whole in (("b1", False), ("b", True)):
        quick_project.runpytest_subprocess("--compiler=mine:Exact", "--ngraph-resume=latest", "-k", selection)
        assert run_ids(store) == [journal.id]
        assert read(store, journal.id).whole is whole
    assert {record.case.batch_size for record in read(store, journal.id).records} == {1, 4}
