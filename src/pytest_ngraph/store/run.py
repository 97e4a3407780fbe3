"""Read runs. Damaged lines are reported and left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, get_args

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.lines import decoded, record_of, unreadable
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
    """

    id: str
    environment: dict[str, str] = field(default_factory=dict)
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    records: tuple[Record, ...] = ()
    planned: frozenset[str] = frozenset()
    deaths: Mapping[Case, Death] = field(default_factory=dict)
    whole: bool = True
    dropped: tuple[str, ...] = ()

    def environment_of(self, device: str) -> dict[str, str]:
        """Return the environment of the machine on which a device's cases were measured."""
        return self.environments.get(device, self.environment)

    @property
    def devices(self) -> list[str]:
        """The devices that have records."""
        return list(dict.fromkeys(record.case.device for record in self.records))

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


def read(folder: Path, run: str = LATEST) -> Run:
    """Return one run with its records; `LATEST` is the last one begun.

    Raises:
        StoreError: there is no such run, it cannot be read, or its schema is newer than this version's.
    """
    known = run_ids(folder)
    if not known:
        raise StoreError(f"the store {folder} has no runs. Run pytest first, or give another folder.")
    if run == LATEST:
        run = known[-1]
    if run not in known:
        raise StoreError(f"the store {folder} has no run {run!r}. Runs: {', '.join(known[-10:])}.")
    path = folder / (run + SUFFIX)
    try:
        with path.open("rb") as file:
            return _Reader(run).read(file)
    except OSError as error:
        raise unreadable(path, error) from error


def last_unfinished(folder: Path) -> str | None:
    """Return the newest run, if it is not complete and no process writes to it; else None."""
    return next((run for run in run_ids(folder)[-1:] if _can_go_on(folder, run)), None)


def unfinished(folder: Path) -> str | None:
    """Return the newest run that is not complete and to which no process writes; None if there is none."""
    return next((run for run in reversed(run_ids(folder)) if _can_go_on(folder, run)), None)


def _can_go_on(folder: Path, run: str) -> bool:
    return not _is_whole(folder / (run + SUFFIX)) and not is_live(folder, run)


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


class _Reader:
    """Reads a journal line by line."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._environment: dict[str, str] = {}
        self._environments: dict[str, dict[str, str]] = {}
        self._records: dict[Case, Record] = {}
        self._planned: set[str] = set()
        self._deaths: dict[Case, Death] = {}
        self._running: dict[Case, Phase] = {}
        self._last: Case | None = None
        self._follows_from: dict[str, Any] = {}
        self._whole = True
        self._dropped: list[str] = []

    def read(self, file: Iterable[bytes]) -> Run:
        """Read the lines of a file one by one: those of a large run need several times the memory of its records."""
        for number, text in enumerate(file, start=1):
            line = text.removesuffix(b"\n")
            if line and not self._take(line):
                cut = "" if text.endswith(b"\n") else ", which was not finished"
                self._dropped.append(f"line {number}{cut}: {len(line)} bytes")
        self._end_session(died=not self._whole)
        return Run(
            id=self._run,
            environment=self._environment,
            environments=self._environments,
            records=tuple(self._records.values()),
            planned=frozenset(self._planned),
            deaths=self._deaths,
            whole=self._whole,
            dropped=tuple(self._dropped),
        )

    def _take(self, line: bytes) -> bool:
        """Process a line. Return whether it could be read."""
        data = decoded(line)
        if data is None:
            return False
        if "schema" in data:
            return self._begin_session(data)
        if ENDED in data:
            self._whole = data[ENDED] == WHOLE
            self._end_session(died=False)
            return True
        if DEVICE in data:
            return self._describe_device(data)
        return self._enter_phase(data) if "phase" in data else self._keep(record_of(data))

    def _begin_session(self, data: dict[str, Any]) -> bool:
        schema = data["schema"]
        if type(schema) is not int:
            return False
        check_schema(schema, self._run)
        environment, planned, source = data.get("environment"), data.get("planned", []), data.get(SOURCE, {})
        if not (
            conforms(environment, dict[str, str]) and conforms(planned, list[str]) and conforms(source, dict[str, str])
        ):
            return False
        self._end_session(died=True)
        self._environment = environment or {}
        self._planned.update(planned)
        self._whole = schema == 1
        return True

    def _describe_device(self, data: dict[str, Any]) -> bool:
        device, environment = data[DEVICE], data.get("environment", {})
        if not (conforms(device, str) and conforms(environment, dict[str, str])):
            return False
        self._environments[device] = environment
        return True

    def _enter_phase(self, data: dict[str, Any]) -> bool:
        try:
            case = Case.from_dict(data["case"])
        except (TypeError, ValueError, KeyError, AttributeError):
            return False
        if data["phase"] not in get_args(Phase) or not conforms(case, Case):
            return False
        self._running[case] = data["phase"]
        self._last = case
        return True

    def _keep(self, record: Record | None) -> bool:
        if record is None:
            return False
        self._share(record.follows_from)
        self._records.pop(record.case, None)
        self._records[record.case] = record
        self._running.pop(record.case, None)
        return True

    def _share(self, follows_from: dict[str, Any]) -> None:
        """Replace what a record follows from by the equal objects of the record before: most of its memory."""
        for name, value in follows_from.items():
            before = self._follows_from.get(name)
            if before is not None and before == value:
                follows_from[name] = before
        self._follows_from = follows_from

    def _end_session(self, *, died: bool) -> None:
        """End a session. If it died, count a death for each case that was running."""
        for case in self._running_last() if died else ():
            times = self._deaths[case].times if case in self._deaths else 0
            self._deaths[case] = Death(times + 1, self._running[case])
        self._running.clear()
        self._last = None

    def _running_last(self) -> Iterator[Case]:
        """Yield the case that entered a phase last, and the cases that were measured alternately with it."""
        if self._last is None or self._last not in self._running:
            return
        yield self._last
        if self._running[self._last] == "measure":
            yield from (
                case
                for case, phase in self._running.items()
                if phase == "measure" and case != self._last and case.group == self._last.group
            )
