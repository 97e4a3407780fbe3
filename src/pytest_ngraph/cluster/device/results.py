"""Results that a device writes to its own disk before it sends them, so that none is measured twice."""

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
"""How often a case is tried again after its process died while running it."""
RUNS = 100
"""How many runs a device keeps, the newest ones."""


class DeviceResults:
    """The run in a device's own store that gets the results of one assignment. It is made if there is none.

    Raises:
        StoreError: the run cannot be read, or another process writes to it.
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

    def of(self, case: Case, *, retry_failed: bool = False) -> Record | None:
        """Return the case's record, or None if the case has to be measured.

        A case that killed its process too often gets a failed record. A case that could not be built is measured again:
        what it lacked may be there now.

        Args:
            retry_failed: whether it is also measured again if its failure may have been chance.
        """
        kept = self._records.get(case)
        if retry_failed and ((kept is not None and kept.may_pass) or (kept is None and case in self._run.deaths)):
            return None
        if kept is not None and kept.outcome == "failed" and not kept.follows_from and case not in self._run.deaths:
            return None
        if case not in self._records and case in self._run.deaths:
            times, phase = self._run.deaths[case]
            if times > RETRIES:
                message = f"the measuring process died {times} times while it ran this case"
                self.add(Record.failed(case, Failure(phase=phase, kind="crashed", message=message)))
        return self._records.get(case)

    def add(self, record: Record) -> None:
        """Store a record. If the disk is full, it is lost only if the connection to the client breaks, too."""
        self._records[record.case] = record
        with suppress(StoreError):
            self._journal.append(record)

    def enter(self, case: Case, phase: Phase) -> None:
        """Note in the store that a case enters a phase. Raises `StoreError`."""
        self._journal.enter(case, phase)

    def close(self) -> None:
        """Note in the store that the measuring process was not killed, and release the run."""
        with suppress(StoreError):
            self._journal.end(whole=False)
        self._journal.close()


def _bound(folder: Path) -> None:
    """Remove all but the newest `RUNS` runs, except those that a process writes to."""
    paths = sorted(folder.glob(f"*{store.SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    for path in paths[:-RUNS]:
        if not store.is_live(folder, path.stem):
            path.unlink(missing_ok=True)
