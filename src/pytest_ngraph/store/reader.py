"""Read runs. Damaged lines are reported and left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.lines import decoded, record_of, unreadable
from pytest_ngraph.store.run import (
    DEVICE,
    ENDED,
    LATEST,
    SOURCE,
    STEP,
    SUFFIX,
    WHOLE,
    Death,
    Run,
    Step,
    check_schema,
    run_ids,
)
from pytest_ngraph.system.garbage import without_garbage_collection


def read(folder: Path, run: str = LATEST) -> Run:
    """Return one run with its records; `LATEST` is the last one begun.

    Raises:
        StoreError: there is no such run, it cannot be read, or its schema is newer than this version's.
    """
    return _read(path_of(folder, run), Reader)


def check(folder: Path, run: str) -> Run:
    """Return a run without its records. Each is read, and not kept. Else as `read`."""
    return _read(path_of(folder, run), _Checker)


def _read(path: Path, kind: type[Reader]) -> Run:
    try:
        with path.open("rb") as file, without_garbage_collection():
            return kind(path.stem).read(file)
    except OSError as error:
        raise unreadable(path, error) from error


def path_of(folder: Path, run: str = LATEST) -> Path:
    """Return the journal of a run; `LATEST` is the last one begun. Raise `StoreError` if there is none."""
    known = run_ids(folder)
    if not known:
        raise StoreError(f"the store {folder} has no runs. Run pytest first, or give another folder.")
    if run == LATEST:
        run = known[-1]
    if run not in known:
        raise StoreError(f"the store {folder} has no run {run!r}. Runs: {', '.join(known[-10:])}.")
    return folder / (run + SUFFIX)


class Reader:
    """Reads a journal line by line.

    Attributes:
        offset: bytes of the journal before the line that comes next.
    """

    def __init__(self, run: str) -> None:
        self.offset = 0
        self._number_of_lines = 0
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
        self._steps: list[Step] = []
        self._since: list[Record] = []

    def read(self, file: Iterable[bytes]) -> Run:
        """Read the lines of a file one by one: those of a large run need several times the memory of its records."""
        for text in file:
            self.take(text)
        return self.run()

    def take(self, text: bytes) -> None:
        """Process the next line, given with the newline that ends it."""
        self._number_of_lines += 1
        line = text.removesuffix(b"\n")
        if line and not self._take(line):
            cut = "" if text.endswith(b"\n") else ", which was not finished"
            self._dropped.append(f"line {self._number_of_lines}{cut}: {len(line)} bytes")
        self.offset += len(text)

    def run(self) -> Run:
        """Return the run. No more lines come."""
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
            steps=tuple(self._steps),
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
        if STEP in data:
            return self._end_step(data[STEP])
        if "phase" in data:
            return self._enter_phase(data)
        record = record_of(data)
        if record is None:
            return False
        self._running.pop(record.case, None)
        self.keep(record, len(line))
        return True

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
        self._since.clear()
        self._environment = environment or {}
        self._planned.update(planned)
        self._whole = schema == 1
        return True

    def _end_step(self, elapsed_s: Any) -> bool:
        if not conforms(elapsed_s, float):
            return False
        self._steps.append(Step(elapsed_s, tuple(self._since)))
        self._since.clear()
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

    def keep(self, record: Record, length: int) -> None:
        """Keep the record of a line of this length. Of a case that has several, the last counts."""
        self._share(record.follows_from)
        self._records.pop(record.case, None)
        self._records[record.case] = record
        self._since.append(record)

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


class _Checker(Reader):
    """Reads a journal without keeping its records."""

    def keep(self, record: Record, length: int) -> None:
        """Keep nothing."""
