"""Calibrating: what is kept of comparing base with base, and when nothing is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ngraph.against.calibrating import Calibrator, kept
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Build, Comparison, Launch, PairedRound, Quad
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Record

CASE = Case(workload="w", compiler="c", batch_size=1)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def record(pressure_percent: float) -> Record:
    """Return a case whose head took between 1 % less and 1 % more than its base, depending on the launch."""
    launches: list[Launch] = []
    for ratio in (0.99, 1.01, 1.0, 1.005, 0.995):
        quads = tuple(Quad((1.0, 1.0), (ratio + noise, ratio)) for noise in (-1e-4, 0.0, 1e-4))
        rounds = tuple(PairedRound(quads=quads, elapsed_s=0.1, pressure_percent=pressure_percent) for _ in range(4))
        launches.append(Launch(builds=(Build(rounds=rounds),), iterations=1, fresh=bool(launches)))
    return Record(case=CASE, outcome="measured", comparison=Comparison(launches=tuple(launches)))


def test_the_spread_between_launches_is_kept_for_this_machine() -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(pressure_percent=0))
    assert run.conclude() == []
    assert not run.verdicts, "nothing fails"
    assert "launches spread by 0.7" in run.notes[-1]
    found = kept()
    assert found is not None
    assert found.priors["together"].spread == pytest.approx(0.007, rel=0.1)
    assert (found.cells, found.false_alarms) == (1, 0)


def test_what_an_earlier_version_kept_for_this_machine_is_used_until_it_is_calibrated_again(tmp_path: Path) -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(pressure_percent=0))
    run.conclude()
    (file,) = tmp_path.glob("**/calibrations/*.json")
    earlier = json.loads(file.read_text()) | {"when": "earlier"}
    file.unlink()
    file.with_name(f"{this_machine().earlier_fingerprint}.json").write_text(json.dumps(earlier))
    found = kept()
    assert found is not None
    assert found.when == "earlier"
    run.conclude()
    found = kept()
    assert found is not None
    assert found.when != "earlier"


def test_a_calibration_that_cannot_be_kept_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(pressure_percent=0))
    assert run.conclude() == []
    assert "Not kept for later runs: cannot write /dev/null/" in run.notes[-1]


def test_a_calibration_cannot_be_kept_without_a_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(pressure_percent=0))
    assert run.conclude() == []
    assert run.notes[-1].startswith("Calibrated: ")
    assert "Set XDG_CACHE_HOME" in run.notes[-1]


def test_a_run_without_measurements_is_no_calibration() -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.conclude()
    assert run.notes == ["Not calibrated: no case was measured."]


def test_a_busy_machine_is_not_calibrated() -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(pressure_percent=50))
    run.conclude()
    assert "Not calibrated: 20 of 20 rounds were disturbed" in run.notes[-1]
    assert kept() is None


def test_a_case_is_decided_after_five_launches() -> None:
    run = Calibrator(GateOptions(calibrate=True))
    comparison = record(0).comparison
    assert comparison is not None
    assert run.is_decided(comparison)
    assert not run.is_decided(Comparison(launches=comparison.launches[:4]))


def test_what_cannot_be_read_is_no_calibration(tmp_path: Path) -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(0))
    run.conclude()
    (file,) = tmp_path.glob("**/calibrations/*.json")
    file.write_text("{}")
    assert kept() is None


def test_a_run_that_was_cut_short_is_no_calibration() -> None:
    run = Calibrator(GateOptions(calibrate=True))
    run.judge(record(0))
    run.conclude(whole=False)
    assert run.notes == ["Not calibrated: the run was cut short."]
    assert kept() is None
