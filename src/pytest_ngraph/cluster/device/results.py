"""Results that a device writes to its own disk before it sends them, so that none is measured twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.machine.machine import environment
from pytest_ngraph.machine.standing import FollowsFrom, staleness
from pytest_ngraph.record import Failure, Phase, Record
from pytest_ngraph.store import Journal, Run
from pytest_ngraph.wording import changes

RUNS = 100
"""How many runs a device keeps, the newest ones."""


class DeviceResults:
    """The run in a device's own store that gets the results of one assignment. It is made if there is none.

    What the other runs of the same assignment have is returned as well, as long as it stands: those that began before
    the device changed, and those in which another client asked for a new try of what had failed.

    Args:
        folder: the device's store.
        assignment: id of all runs of the assignment.
        installed: digest of what is installed on this device.
        retry: id of the client that asks for a new try of what failed before it came; empty if none is asked for.
        retries: how often a case is tried again after its process died while running it.

    Attributes:
        again: why the record of a case does not stand any more, by case.

    Raises:
        StoreError: the run cannot be read, or another process writes to it.
    """

    def __init__(self, folder: Path, assignment: str, installed: str, *, retry: str = "", retries: int = 1) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _bound(folder)
        self.again: dict[Case, str] = {}
        self._retry = bool(retry)
        self._retries = retries
        self._here = f"{assignment}-{installed}"
        run_id = f"{self._here}-{retry}" if retry else self._here
        if run_id in store.run_ids(folder):
            self._journal = Journal.reopen(folder, run_id)
            self._journal.describe(environment(), tuple)
            self._run = store.read(folder, run_id)
        else:
            self._journal = Journal(folder, environment(), run=run_id)
            self._run = Run(id=run_id)
        self._records = {record.case: record for record in self._run.records}
        self._earlier: dict[Case, tuple[Record, Run]] = {}
        for run in _others(folder, assignment, run_id):
            for record in run.records:
                known = self._earlier.get(record.case)
                if known is None or record.started_at >= known[0].started_at:
                    self._earlier[record.case] = record, run

    def of(self, case: Case, follows_from: FollowsFrom) -> Record | None:
        """Return the case's record, or None if the case has to be measured; `again` may then say why.

        A case that killed its process too often gets a failed record. A case that could not be built is measured again:
        what it lacked may be there now.

        Args:
            follows_from: returns what a record would follow from now.
        """
        kept = self._standing(case, follows_from)
        death = self._run.deaths.get(case)
        if kept is None and death is not None and death.times > self._retries:
            message = f"the measuring process died {death.times} times while it ran this case"
            kept = Record.failed(case, Failure(phase=death.phase, kind="crashed", message=message))
            self.add(kept)
        return kept

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

    def _stands(self, record: Record, run: Run, follows_from: FollowsFrom) -> bool:
        """Return whether the record of a run stands. If it is stale, `again` gets the reason."""
        if self._retry and run is not self._run and record.may_pass:
            return False
        if record.outcome == "failed" and not record.follows_from:
            if record.case in run.deaths and not run.id.startswith(self._here):
                self.again.setdefault(record.case, _change(run.environment))
            return record.case in run.deaths and run.id.startswith(self._here)
        reasons = staleness(record, follows_from)
        if reasons:
            self.again.setdefault(record.case, "; ".join(reasons))
        return not reasons

    def _standing(self, case: Case, follows_from: FollowsFrom) -> Record | None:
        """Return the record of a case that was started last of those that stand.

        One that was started later and does not stand hides none: this device's clock may have been ahead.
        """
        own = self._records.get(case)
        found = [] if own is None else [(own, self._run)]
        found += [self._earlier[case]] if case in self._earlier else []
        for record, run in sorted(found, key=lambda each: each[0].started_at, reverse=True):
            if self._stands(record, run, follows_from):
                self.again.pop(case, None)
                return record
        return None


def _others(folder: Path, assignment: str, but: str) -> Iterator[Run]:
    """Yield the other runs of an assignment that can be read."""
    for run_id in store.run_ids(folder):
        if run_id.startswith(f"{assignment}-") and run_id != but:
            with suppress(StoreError):
                yield store.read(folder, run_id)


def _change(before: Mapping[str, str]) -> str:
    """Return in words how this device differs from an earlier environment."""
    return ", ".join(changes(before, environment()))


def oldest_first(folder: Path) -> list[tuple[Path, int]]:
    """Return the journals in a folder, each with its size in bytes. One that another process removes is left out."""
    found = []
    for path in folder.glob(f"*{store.SUFFIX}"):
        with suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime_ns, path, status.st_size))
    return [(path, size) for _, path, size in sorted(found)]


def _bound(folder: Path) -> None:
    """Remove all but the newest `RUNS` runs, except those that a process writes to."""
    for path, _ in oldest_first(folder)[:-RUNS]:
        if not store.is_live(folder, path.stem):
            path.unlink(missing_ok=True)
