"""Writing a run."""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase, Record
from pytest_ngraph.store.outlining import WORTH_KEEPING, gain
from pytest_ngraph.store.run import CUT_SHORT, DEVICE, ENDED, RACE, SCHEMA, SOURCE, STEP, SUFFIX, WHOLE, run_ids
from pytest_ngraph.system.files import UNSUPPORTED, sync_folder, take, write_line

STAMP = "%Y%m%d-%H%M%S"
LOCK_TRIES, LOCK_POLL_S = 10, 0.1
"""A process that lists the runs holds the lock for an instant, so the lock is tried several times."""


class Journal:
    """Writes one session of a run.

    The file is created with the first phase or record, so that a run which measured nothing leaves no file. The journal
    holds a lock on it, which shows other processes that the run is being written.

    Args:
        folder: the store.
        environment: the environment of this machine.
        planned: returns the ids of the cases that the tests will ask for; called when the first line is written.
        now: the wall clock.
        run: id of the run; by default made from the time.
        source: what is measured: `commit`, `branch`, and for a history `anchor` and `anchor commit`.
        race: the workload that a race is about; empty for a run of tests.

    Attributes:
        session: as in `Record.session`.
        gained: called with the journal's path whenever its outline has gained what was written.
    """

    def __init__(
        self,
        folder: Path,
        environment: dict[str, str],
        planned: Callable[[], Iterable[str]] = tuple,
        now: Callable[[], datetime] = datetime.now,
        run: str = "",
        source: Mapping[str, str] = MappingProxyType({}),
        race: str = "",
    ) -> None:
        self.id = run or new_id(folder, now)
        self._source = source
        self._race = race
        self._folder = folder
        self._environment = environment
        self._planned = planned
        self.session = ""
        self._resumed = False
        self._begun = False
        self._file: int | None = None
        self._gained, self._due = 0, WORTH_KEEPING
        self.gained: Callable[[Path], object] = _nothing

    @classmethod
    def reopen(cls, folder: Path, run: str, race: str = "") -> Journal:
        """Return a journal that continues a run. Raise `StoreError` if another process writes to it."""
        journal = cls(folder, {}, run=run, race=race)
        journal._resumed = True
        journal.session = secrets.token_hex(8)
        try:
            journal._file = _open(journal.path)
            _lock(journal._file, run)
        except OSError as error:
            raise _unwritable(folder, error) from error
        return journal

    def describe(
        self,
        environment: dict[str, str],
        planned: Callable[[], Iterable[str]],
        source: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Set what the first line of the next session says. For a reopened run."""
        self._environment, self._planned, self._source = environment, planned, source

    def append(self, record: Record) -> None:
        """Write the record and wait until it is on disk. Raise `StoreError` if it cannot be written."""
        self._write(record.to_dict())
        self._gained += 1
        if self._gained == self._due:
            self._gained, self._due = 0, gain(self.path)
            self.gained(self.path)

    def own(self, record: Record) -> Record:
        """Return a record as one of this run, measured in this session unless it names another."""
        return dataclasses.replace(record, run=self.id, session=record.session or self.session)

    def enter(self, case: Case, phase: Phase) -> None:
        """Write that a case enters a phase, so that a later session knows what was running if this one dies."""
        self._write({"phase": phase, "case": case.to_dict()})

    def describe_device(self, device: str, environment: dict[str, str]) -> None:
        """Write the environment of a cluster's device on which cases of this run are measured."""
        self._write({DEVICE: device, "environment": environment})

    def end_step(self, elapsed_s: float) -> None:
        """Write that a race has what it asked for, and decides again after these seconds."""
        self._write({STEP: elapsed_s})

    def end(self, *, whole: bool) -> None:
        """Write that the session ends, and whether it was complete."""
        if self._file is not None:
            self._write({ENDED: WHOLE if whole else CUT_SHORT})

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    @property
    def path(self) -> Path:
        """The file."""
        return self._folder / (self.id + SUFFIX)

    def _write(self, data: dict[str, Any]) -> None:
        try:
            file = self._ready()
            if not self._begun:
                write_line(file, _compact(self._session()))
                self._begun = True
            write_line(file, _compact(data))
        except OSError as error:
            raise _unwritable(self._folder, error) from error

    def _ready(self) -> int:
        """Return the file. Create it if there is none; write it again if somebody deleted it."""
        if self._file is None:
            self._file = self._create()
        elif os.fstat(self._file).st_nlink == 0:
            deleted, self._file = self._file, self._create()
            _copy(deleted, self._file)
            os.close(deleted)
        return self._file

    def _create(self) -> int:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        keep_out_of_git(self._folder)
        file = _open(self.path, os.O_CREAT | os.O_EXCL)
        try:
            _lock(file, self.id)
            sync_folder(self._folder)
        except BaseException:  # a run that cannot be written leaves nothing that looks like one
            self.path.unlink(missing_ok=True)
            os.close(file)
            raise
        return file

    def _session(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "run": self.id,
            "resumed": self._resumed,
            RACE: self._race,
            "environment": self._environment,
            **({SOURCE: dict(self._source)} if self._source else {}),
            "planned": sorted(self._planned()),
        }


def new_id(folder: Path, now: Callable[[], datetime] = datetime.now) -> str:
    """Return an id that sorts after those of all runs in the store, even if the clock was set back since."""
    stamp = now().replace(microsecond=0)
    latest = max((found for run in run_ids(folder) if (found := stamp_of(run))), default=None)
    if latest is not None and latest >= stamp:
        stamp = latest + timedelta(seconds=1)
    return f"{stamp.strftime(STAMP)}-{secrets.randbelow(10**6):06}"


def keep_out_of_git(folder: Path) -> None:
    """Have git ignore what lies in a store."""
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")


def check_writable(folder: Path) -> None:
    """Raise `StoreError` if a run cannot be written to this folder, or not locked: before hours of measuring."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            probe.write_bytes(bytes(4096))
            _check_lockable(probe, folder)
        finally:
            with suppress(OSError):
                probe.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def _check_lockable(probe: Path, folder: Path) -> None:
    file = _open(probe)
    try:
        take(file)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        raise StoreError(
            f"the file system of the store {folder} has no file locks ({error.strerror}), which keep two sessions from "
            "writing to one run. Give a folder on another file system: --ngraph-store=DIR."
        ) from error
    finally:
        os.close(file)


def stamp_of(run: str) -> datetime | None:
    """Return when a run began, from its id; None if the id has another form."""
    try:
        return datetime.strptime(run[: len("yyyymmdd-hhmmss")], STAMP)
    except ValueError:
        return None


def _nothing(journal: Path) -> None:
    """Do nothing with a journal whose outline has gained."""


def _compact(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"))


def _open(path: Path, flags: int = 0) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)


def _lock(file: int, run: str) -> None:
    for _ in range(LOCK_TRIES):
        if take(file):
            return
        time.sleep(LOCK_POLL_S)
    raise StoreError(f"another process writes to run {run}. Wait until it ends, or name another run.")


def _copy(source: int, target: int) -> None:
    offset = 0
    while block := os.pread(source, 1 << 20, offset):
        offset += os.write(target, block)
    os.fsync(target)


def _unwritable(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write to the store {folder}: {error.strerror}. Give a writable folder: --ngraph-store=DIR."
    )
