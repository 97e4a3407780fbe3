"""Results that a device keeps: on its own disk before anybody else has them, so that none is measured twice."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.record import Failure, Phase, Record
from pytest_ngraph.store import Journal, Run

RETRIES = 1
"""How often a case is measured again that was running when its process died."""
RUNS = 100
"""A device keeps the newest ones."""


class DeviceResults:
    """The run of a device's own store that one assignment's results go to, made where there is none.

    Raises `StoreError` where it cannot be read, or another process writes to it.
    """

    def __init__(self, folder: Path, run_id: str) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _bound(folder)
        if run_id in store.run_ids(folder):
            self._journal = Journal.reopen(folder, run_id)
            self._journal.describe(environment(), tuple)
            self._run = store.read(folder, run_id)
        else:
            self._journal = Journal(folder, environment(), run=run_id)
            self._run = Run(id=run_id)
        self._records = {record.case: record for record in self._run.records}

    def of(self, case: Case) -> Record | None:
        """The case's record, if it needs no measuring: there is one, or it took its process with it too often. One that
        could not be built is tried again: what it lacked may be there now."""
        kept = self._records.get(case)
        if kept is not None and kept.outcome == "failed" and not kept.follows_from and case not in self._run.deaths:
            return None
        if case not in self._records and case in self._run.deaths:
            times, phase = self._run.deaths[case]
            if times > RETRIES:
                message = f"the process that measures died {times} times while this case was in it"
                self.add(Record.failed(case, Failure(phase=phase, kind="crashed", message=message)))
        return self._records.get(case)

    def add(self, record: Record) -> None:
        """Keep a record. The client gets it too: a disk that is full loses only what a cut connection would."""
        self._records[record.case] = record
        with suppress(StoreError):
            self._journal.append(record)

    def enter(self, case: Case, phase: Phase) -> None:
        """Note that a case enters a phase. Raises `StoreError`."""
        self._journal.enter(case, phase)

    def close(self) -> None:
        """Note that whoever measures ended in order, and let go."""
        with suppress(StoreError):
            self._journal.end(whole=False)
        self._journal.close()


def _bound(folder: Path) -> None:
    """Remove runs that nobody writes to, the oldest first, until few enough are left."""
    paths = sorted(folder.glob(f"*{store.SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    for path in paths[:-RUNS]:
        if not store.is_live(folder, path.stem):
            path.unlink(missing_ok=True)
