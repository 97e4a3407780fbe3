"""A run as read back, and which runs a store has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.store.lines import decoded, unreadable
from pytest_ngraph.system.files import UNSUPPORTED, take

SCHEMA = 2
"""Version of the format. Schema 1 had neither phases nor sessions: its runs count as complete."""
LATEST = "latest"
"""Given instead of a run's id: the last run begun."""
SUFFIX = ".jsonl"
SUMMARIES = "summaries"
"""The folder of what is left of runs whose samples were forgotten (`history.summary`)."""
DEVICE = "device"
SOURCE = "source"
"""Key of what a session measured, a mapping with the following keys, as far as they are known."""
COMMIT, BRANCH, ANCHOR, ANCHOR_COMMIT = "commit", "branch", "anchor", "anchor commit"
RACE = "race"
"""Key of the workload that a race is about; it is empty in a run of tests."""
STEP = "step"
"""Key of the seconds after which a race decided what it measures next."""
ENDED = "ended"
WHOLE = "whole"
CUT_SHORT = "cut short"
LONGEST_END = 4096
"""Bytes at the end of a file that contain the line on how the session ended. Every pytest session looks it up, so the
rest of the file is not read."""


class Death(NamedTuple):
    """How often a run died while a case was running, and the phase in which it died the last time."""

    times: int
    phase: Phase


class Step(NamedTuple):
    """What a race has measured before it decided again, and the seconds that it had taken by then."""

    elapsed_s: float
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as read back.

    Attributes:
        id: id of the run.
        environment: environment of the machine on which the run was started.
        environments: environments of the cluster's devices that measured for it, by name.
        records: the last record of each case.
        planned: ids of the cases that its tests would ask for.
        deaths: cases that were running when a session of the run died.
        whole: whether its last session was complete.
        dropped: a description of each line that could not be read.
        steps: those of a race, in their order; a case may have a record in several.
        devices_of_outline: the devices that have records, where the records themselves were not kept.
    """

    id: str
    environment: dict[str, str] = field(default_factory=dict)
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    records: tuple[Record, ...] = ()
    planned: frozenset[str] = frozenset()
    deaths: Mapping[Case, Death] = field(default_factory=dict)
    whole: bool = True
    dropped: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    devices_of_outline: tuple[str, ...] = ()

    def environment_of(self, device: str) -> dict[str, str]:
        """Return the environment of the machine on which a device's cases were measured."""
        return self.environments.get(device, self.environment)

    @property
    def devices(self) -> list[str]:
        """The devices that have records."""
        return list(dict.fromkeys([*self.devices_of_outline, *(record.case.device for record in self.records)]))

    @property
    def damaged(self) -> int:
        """Number of lines that could not be read."""
        return len(self.dropped)

    @property
    def crashed(self) -> list[Case]:
        """Cases that were running when a session died and that have no record."""
        recorded = {record.case for record in self.records}
        return [case for case in self.deaths if case not in recorded]

    @property
    def unfinished(self) -> int:
        """Number of planned cases that have no record and did not crash."""
        return len(self.planned - {record.case.id for record in self.records} - {case.id for case in self.crashed})


def run_ids(folder: Path) -> list[str]:
    """Return the ids of the runs in a store, oldest first."""
    return sorted(path.stem for path in folder.glob("*" + SUFFIX))


def last_unfinished(folder: Path) -> str | None:
    """Return the newest run, if it is one of tests, not complete, and no process writes to it; else None."""
    return next((run for run in run_ids(folder)[-1:] if _can_go_on(folder, run)), None)


def unfinished(folder: Path, race: str = "") -> str | None:
    """Return the newest run that is not complete and to which no process writes; None if there is none.

    Args:
        race: the workload of the races to choose from; empty for runs of tests.
    """
    return next((run for run in reversed(run_ids(folder)) if _can_go_on(folder, run, race)), None)


def race_of(folder: Path, run: str) -> str:
    """Return the workload that a race is about; empty for a run of tests.

    Earlier versions did not write it down: what has steps is a race, of the workload of the record before the first.
    """
    path = folder / (run + SUFFIX)
    try:
        with path.open("rb") as file:
            before = file.readline()
            if isinstance(race := (decoded(before) or {}).get(RACE), str):
                return race
            for line in file:
                if line.startswith(b'{"%s":' % STEP.encode()):
                    case = (decoded(before) or {}).get("case")
                    return str(case.get("workload", "")) if isinstance(case, dict) else ""
                before = line
    except OSError as error:
        raise unreadable(path, error) from error
    return ""


def _can_go_on(folder: Path, run: str, race: str = "") -> bool:
    return not _is_whole(folder / (run + SUFFIX)) and not is_live(folder, run) and race_of(folder, run) == race


def _is_whole(path: Path) -> bool:
    """Return whether the last session of a run was complete, from the file's first and last lines."""
    try:
        with path.open("rb") as file:
            first = file.readline()
            file.seek(max(0, path.stat().st_size - LONGEST_END))
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    except OSError as error:
        raise unreadable(path, error) from error
    return (decoded(first) or {}).get("schema") == 1 or (decoded(last) or {}).get(ENDED) == WHOLE


def is_live(folder: Path, run: str) -> bool:
    """Return whether a process writes to this run: it holds a lock on the file, which the kernel frees if it dies.

    No process writes where the file system has no locks.
    """
    path = folder / (run + SUFFIX)
    try:
        with path.open("rb") as file:
            return not take(file.fileno(), shared=True)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return False
        raise unreadable(path, error) from error


def check_schema(schema: int, run: str) -> None:
    """Raise `StoreError` if a run was written by a later version of this package."""
    if schema > SCHEMA:
        raise StoreError(
            f"run {run} was written with schema {schema}; this pytest-ngraph reads up to {SCHEMA}. "
            "Upgrade pytest-ngraph."
        )
