"""The results that a device stores."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from synthetic import case, failed, measured

from pytest_ngraph import store
from pytest_ngraph.cluster.device import results
from pytest_ngraph.cluster.device.results import DeviceResults
from pytest_ngraph.record import FailureKind

EAGER, TVM = case("identity"), case("tvm")
RUN = "20261121-120000-000001-0123456789abcdef"


def die(of: DeviceResults) -> None:
    """End as a killed process does, without writing anything more."""
    of._journal.close()


def test_a_record_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = DeviceResults(tmp_path, RUN)
    first.enter(EAGER, "measure")
    first.add(measured(EAGER, 0.1))
    die(first)
    again = DeviceResults(tmp_path, RUN)
    assert again.of(EAGER) == measured(EAGER, 0.1)
    assert again.of(TVM) is None
    again.close()


@pytest.mark.parametrize(("kind", "again"), [("timed out", True), ("raised", False)])
def test_a_failure_that_may_have_been_chance_is_measured_again_when_asked(
    tmp_path: Path, kind: FailureKind, *, again: bool
) -> None:
    found = DeviceResults(tmp_path, RUN)
    record = failed(TVM, kind=kind)
    record = dataclasses.replace(record, follows_from={"graph": "g", "files": {}})
    found.add(record)
    assert found.of(TVM) == record
    assert (found.of(TVM, retry_failed=True) is None) is again
    found.close()


def test_a_case_that_died_twice_is_given_up(tmp_path: Path) -> None:
    for deaths in range(2):
        found = DeviceResults(tmp_path, RUN)
        assert found.of(TVM) is None, f"given up after {deaths}"
        found.enter(TVM, "compile")
        die(found)
    found = DeviceResults(tmp_path, RUN)
    record = found.of(TVM)
    assert record is not None
    assert record.failure is not None
    assert (record.failure.kind, record.failure.phase) == ("crashed", "compile")
    assert record.started_at > 0, "of equal cases the one started last counts"
    found.close()
    assert [each.case for each in store.read(tmp_path, RUN).records] == [TVM]


def test_a_process_that_ends_normally_is_no_death(tmp_path: Path) -> None:
    for _ in range(3):
        found = DeviceResults(tmp_path, RUN)
        assert found.of(TVM) is None
        found.enter(TVM, "compile")
        found.close()


def test_the_oldest_runs_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RUNS", 2)
    for number in range(4):
        found = DeviceResults(tmp_path, f"run-{number}")
        found.add(measured(EAGER, 0.1))
        found.close()
        os.utime(tmp_path / f"run-{number}{store.SUFFIX}", (number, number))
    DeviceResults(tmp_path, "run-4").close()
    assert store.run_ids(tmp_path) == ["run-2", "run-3"]


def test_what_could_not_be_built_is_tried_again(tmp_path: Path) -> None:
    found = DeviceResults(tmp_path, RUN)
    found.add(failed(EAGER, "no such file", phase="build"))
    assert found.of(EAGER) is None
    found.close()
