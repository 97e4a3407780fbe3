"""What is known of how much processes differ: from this machine's calibration, from the store, or in general."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.against import processes
from pytest_ngraph.gate import Calibration
from pytest_ngraph.metrics.between import IN_GENERAL, Spread
from pytest_ngraph.record import Record

CALIBRATION = Calibration(
    machine="here", priors={}, cells=1, false_alarms=0, when="2026-11-24T12:00:00Z", processes=Spread(0.004, 8)
)


@pytest.fixture(autouse=True)
def _calibrated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(processes, "kept", lambda: CALIBRATION)
    return iter(())


def record(run: str, machine: str = "here", seconds: float = 0.01) -> Record:
    return measured(case(), seconds, run=run, follows_from={"machine": machine, "graph": "a"})


def write(folder: Path, *records: Record) -> None:
    for each in records:
        journal = store.Journal(folder, {}, run=each.run)
        journal.append(each)
        journal.end(whole=True)
        journal.close()


def test_a_calibration_holds_for_its_own_machine(tmp_path: Path) -> None:
    found = processes.known([record("now")], tmp_path / "none")
    assert (found.process, found.session) == (Spread(0.004, 8), IN_GENERAL.session)
    assert found.source == "as calibrated on 2026-11-24"
    assert processes.known([record("now", "there")], tmp_path) == IN_GENERAL
    assert processes.known([record("now"), record("now", "there")], tmp_path) == IN_GENERAL
    assert processes.known([measured(case(), 0.1)], tmp_path) == IN_GENERAL


def test_a_calibration_of_an_earlier_version_says_nothing_about_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "kept", lambda: dataclasses.replace(CALIBRATION, processes=None))
    assert processes.calibrated(["here"]) == IN_GENERAL


def test_earlier_runs_of_the_same_code_on_the_machine_count(tmp_path: Path) -> None:
    write(tmp_path, record("1"), record("2", seconds=0.02), record("3", "there"), record("now", seconds=0.5))
    (tmp_path / "0.jsonl").write_text('{"schema": 99}\n')
    found = processes.known([record("now")], tmp_path)
    assert found.source == "as in 2 runs of the same code here"
    assert found.session.deviation > 2 * IN_GENERAL.session.deviation
