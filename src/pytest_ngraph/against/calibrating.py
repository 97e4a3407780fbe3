"""A run that compares base with base: it fails nothing, and finds how much the launches of this machine spread."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.against.live import LiveBase
from pytest_ngraph.against.options import GateOptions
from pytest_ngraph.against.origin import Found
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, is_disturbed
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.gate import Calibration, Verdict, calibrate
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Record
from pytest_ngraph.system.files import user_folder, write_whole

LAUNCHES = 5
"""Launches of each case: its screen, and four in fresh processes."""


class FromItself:
    """Every case is its own base, and is measured beside itself."""

    name = identity = "itself"
    has_own_libraries = False
    description = "calibrating: base and head are the same code, so that any difference is noise"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        return Found(bases={case: case for _, case in heads}, home=Home(), measures_equals=True)

    def close(self) -> None:
        """Do nothing: `open` makes nothing."""


class Calibrator(LiveBase):
    """Collects comparisons instead of giving verdicts."""

    def __init__(self, options: GateOptions) -> None:
        super().__init__(FromItself(), options)

    def is_decided(self, comparison: Comparison) -> bool:
        return len(comparison.launches) >= LAUNCHES

    def judge(self, record: Record) -> None:
        if record.comparison is not None and record.comparison.launches:
            self._comparisons[record.case] = record.comparison

    def conclude(self, *, whole: bool = True) -> list[Verdict]:
        """Keep the calibration for later runs on this machine, if it was quiet enough to show its own noise."""
        rounds = [each for found in self._comparisons.values() for one in found.launches for each in one.rounds]
        disturbed = sum(map(is_disturbed, rounds))
        if not whole:
            result = "Not calibrated: the run was cut short."
        elif not rounds:
            result = "Not calibrated: no case was measured."
        elif 2 * disturbed > len(rounds):
            result = (
                f"Not calibrated: {disturbed} of {len(rounds)} rounds were disturbed. Try again on a quiet machine."
            )
        else:
            result = self._calibrate()
        self.notes.append(result)
        return []

    def _calibrate(self) -> str:
        """Find the spread and keep it. Return what became of it, in words."""
        machine, when = this_machine().fingerprint, time.strftime("%Y-%m-%dT%H:%M:%S%z")
        found = calibrate(list(self._comparisons.items()), self._ledger.rule, machine=machine, when=when)
        try:
            keep(found)
        except NgraphError as error:
            return f"Calibrated: {found.text}. Not kept for later runs: {error}"
        return f"Calibrated: {found.text}. Later runs on this machine use it."


def keep(calibration: Calibration) -> None:
    """Write a calibration where `kept` finds it.

    Raises:
        StoreError: it cannot be written.
        UsageError: the user has no home folder.
    """
    write_whole(_path(calibration.machine), json.dumps(calibration.to_dict()).encode())


def kept() -> Calibration | None:
    """Return this machine's calibration, or else what an earlier version kept; None where none can be read."""
    machine = this_machine()
    return _read(machine.fingerprint) or _read(machine.earlier_fingerprint)


def _read(machine: str) -> Calibration | None:
    try:
        return Calibration.from_dict(json.loads(_path(machine).read_text()))
    except (NgraphError, OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _path(machine: str) -> Path:
    return user_folder() / "calibrations" / f"{machine}.json"
