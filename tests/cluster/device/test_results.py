"""The results that a device stores."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest
from synthetic import case, failed, measured

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.device import results
from pytest_ngraph.cluster.device.results import DeviceResults
from pytest_ngraph.record import FailureKind, Record

EAGER, TVM = case("identity"), case("tvm")
RUN = "20261121-120000-000001-0123456789abcdef"
NOW: dict[str, Any] = {"graph": "g", "files": {"/elsewhere/weights.pt": "d1"}, "libraries": {"torch": "2.6"}}


def opened(folder: Path, installed: str = "i1", **asked: Any) -> DeviceResults:
    return DeviceResults(folder, RUN, installed, **asked)


def of(device: DeviceResults, case: Case, **changed: Any) -> Record | None:
    """Return what a device has of a case while everything is as in `NOW`, except what is given."""
    return device.of(case, lambda record: NOW | changed)


def die(of: DeviceResults) -> None:
    """End as a killed process does, without writing anything more."""
    of._journal.close()


def stored(folder: Path, record: Record, **asked: Any) -> Record:
    """Store a record of now, and return it."""
    device = opened(folder, **asked)
    device.add(record := dataclasses.replace(record, follows_from=NOW))
    device.close()
    return record


def killed(folder: Path, case: Case, times: int, **asked: Any) -> None:
    """Have so many processes die while they compile a case."""
    for _ in range(times):
        device = opened(folder, **asked)
        device.enter(case, "compile")
        die(device)


def test_a_record_is_there_for_the_next_process(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.enter(EAGER, "measure")
    first.add(record := measured(EAGER, 0.1, follows_from=NOW))
    die(first)
    again = opened(tmp_path)
    assert of(again, EAGER) == record
    assert of(again, TVM) is None
    assert again.again == {}
    again.close()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"files": {"/elsewhere/weights.pt": "d2"}}, "weights.pt changed"),
        ({"variables": {"TORCHINDUCTOR_MAX_AUTOTUNE": "1"}}, "variables: none -> {'TORCHINDUCTOR_MAX_AUTOTUNE': '1'}"),
        ({"libraries": {"torch": "2.7"}}, "libraries: torch 2.6 -> 2.7"),
        ({"source": "s2"}, "the compiler's own code or libraries changed"),
    ],
    ids=["files", "variables", "libraries", "source"],
)
def test_what_is_stale_is_measured_again_and_the_reason_is_known(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    stored(tmp_path, measured(EAGER, 0.1))
    device = opened(tmp_path)
    assert of(device, EAGER, **changed) is None
    assert device.again == {EAGER: reason}
    device.close()


def test_what_was_measured_before_an_upgrade_that_does_not_matter_stands(tmp_path: Path) -> None:
    record = stored(tmp_path, measured(EAGER, 0.1))
    device = opened(tmp_path, "i2")
    assert of(device, EAGER) == record
    assert of(device, EAGER, libraries={"torch": "2.7"}) is None
    assert device.again == {EAGER: "libraries: torch 2.6 -> 2.7"}
    device.close()


def test_a_record_of_a_time_when_the_clock_was_ahead_hides_none(tmp_path: Path) -> None:
    """Else its case would be measured each time that it is asked for."""
    ahead = opened(tmp_path, "i0")
    ahead.add(measured(EAGER, 0.1, started_at=4e9, follows_from=NOW | {"libraries": {"torch": "2.5"}}))
    ahead.close()
    device = opened(tmp_path)
    assert of(device, EAGER) is None
    assert device.again == {EAGER: "libraries: torch 2.5 -> 2.6"}
    device.close()
    record = stored(tmp_path, measured(EAGER, 0.2, started_at=2e9))
    device = opened(tmp_path)
    assert of(device, EAGER) == record
    assert device.again == {}
    device.close()


@pytest.mark.parametrize(("kind", "again"), [("timed out", True), ("raised", False)])
def test_a_failure_that_may_have_been_chance_is_measured_again_when_asked(
    tmp_path: Path, kind: FailureKind, *, again: bool
) -> None:
    record = stored(tmp_path, failed(TVM, kind=kind))
    device = opened(tmp_path)
    assert of(device, TVM) == record
    device.close()
    for attempt in range(2):
        device = opened(tmp_path, retry="client")
        assert (of(device, TVM) is None) is (again and attempt == 0), "once for each client that asks"
        device.add(dataclasses.replace(record, started_at=1.0))
        device.close()


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_case_that_kills_its_process_is_retried_as_often_as_asked(tmp_path: Path, retries: int) -> None:
    for deaths in range(retries + 1):
        found = opened(tmp_path, retries=retries)
        assert of(found, TVM) is None, f"given up after {deaths}"
        found.enter(TVM, "compile")
        die(found)
    found = opened(tmp_path, retries=retries)
    record = of(found, TVM)
    assert record is not None
    assert record.failure is not None
    assert (record.failure.kind, record.failure.phase) == ("crashed", "compile")
    assert record.started_at > 0, "of equal cases the one started last counts"
    found.close()
    assert [each.case for each in store.read(tmp_path, f"{RUN}-i1").records] == [TVM]


def test_a_case_that_was_given_up_is_tried_as_often_again_when_asked(tmp_path: Path) -> None:
    killed(tmp_path, TVM, 2)
    device = opened(tmp_path)
    assert of(device, TVM) is not None
    device.close()
    for _ in range(2):
        device = opened(tmp_path, retry="client")
        assert of(device, TVM) is None
        device.enter(TVM, "measure")
        die(device)
    device = opened(tmp_path, retry="client")
    record = of(device, TVM)
    assert record is not None
    assert record.failure is not None
    assert record.failure.phase == "measure"
    device.close()
    record = stored(tmp_path, measured(TVM, 0.1, started_at=record.started_at + 1), retry="the next")
    device = opened(tmp_path)
    assert of(device, TVM) == record, "the newest counts, whoever asked for it"
    device.close()


def test_a_case_that_was_given_up_is_tried_again_on_a_changed_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "environment", lambda: {"torch": "2.6", "python": "3.11.7"})
    killed(tmp_path, TVM, 2)
    device = opened(tmp_path)
    assert of(device, TVM) is not None
    device.close()
    monkeypatch.setattr(results, "environment", lambda: {"torch": "2.7", "python": "3.11.7"})
    device = opened(tmp_path, "i2")
    assert of(device, TVM) is None
    assert device.again == {TVM: "torch 2.6 -> 2.7"}
    device.close()


def test_a_process_that_ends_normally_is_no_death(tmp_path: Path) -> None:
    for _ in range(3):
        found = opened(tmp_path)
        assert of(found, TVM) is None
        found.enter(TVM, "compile")
        found.close()


def test_the_oldest_runs_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RUNS", 2)
    for number in range(4):
        found = DeviceResults(tmp_path, f"run-{number}", "i")
        found.add(measured(EAGER, 0.1))
        found.close()
        os.utime(tmp_path / f"run-{number}-i{store.SUFFIX}", (number, number))
    DeviceResults(tmp_path, "run-4", "i").close()
    assert store.run_ids(tmp_path) == ["run-2-i", "run-3-i"]


def test_what_could_not_be_built_is_tried_again(tmp_path: Path) -> None:
    found = opened(tmp_path)
    found.add(failed(EAGER, "no such file", phase="build"))
    assert of(found, EAGER) is None
    found.close()
