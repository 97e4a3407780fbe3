"""Records go to the store: into a new run, or into the one that the session resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.machine.machine import environment

if TYPE_CHECKING:
    from pytest_ngraph.record import Phase, Record
    from pytest_ngraph.session.resume import ResumedRun
    from pytest_ngraph.store import Journal

GAINS = 5
"""How often the outline of a run gains records before their rows are kept: each time, a process starts for that."""


class Recorder:
    """Writes to one run of the store, which it opens when the first record comes.

    Args:
        store: folder of the store.
        resumed: run that the session resumes; None for a new one.
        planned: returns the ids of the cases that tests will ask for.
        source: returns what is measured, as in `Journal`.

    Attributes:
        unsaved: cases that the store does not have, and why.
    """

    def __init__(
        self,
        store: Path,
        resumed: ResumedRun | None,
        planned: Callable[[], Iterable[str]],
        source: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.unsaved: dict[Case, str] = {}
        self._store = store
        self._resumed = resumed
        self._planned = planned
        self._source = source
        self._journal: Journal | None = None
        self._gains = 0

    @property
    def run_id(self) -> str:
        """Id of the run; empty when nothing was recorded."""
        return self._journal.id if self._journal else ""

    def check(self) -> None:
        """Raise `StoreError` when records could not be stored."""
        from pytest_ngraph.store import check_writable

        check_writable(self._store)

    def keep(self, record: Record) -> Record:
        """Store a record and return it with its run. When that fails, its case is unsaved."""
        journal = self.open()
        record = journal.own(record)
        try:
            journal.append(record)
        except StoreError as error:
            self.unsaved[record.case] = str(error)
        return record

    def describe_device(self, device: str, environment: dict[str, str]) -> None:
        """Store the environment of a device of a cluster. Raises `StoreError`."""
        self.open().describe_device(device, environment)

    def enter(self, case: Case, phase: Phase) -> None:
        """Note that a case enters a phase. Raises `StoreError`."""
        self.open().enter(case, phase)

    def open(self) -> Journal:
        """Return the run, open for writing."""
        if self._journal is None:
            self._journal = self._opened()
        return self._journal

    def _opened(self) -> Journal:
        from pytest_ngraph.store import Journal

        if self._resumed is None:
            journal = Journal(self._store, environment(), self._planned, source=self._source())
        else:
            journal = self._resumed.journal
            journal.describe(environment(), self._planned, self._source())
        journal.gained = self._gained
        return journal

    def _gained(self, journal: Path) -> None:
        """Keep the rows of a long run for reports, some thousand at a time."""
        from pytest_ngraph.report.study import keep_rows

        self._gains += 1
        if self._gains % GAINS == 0:
            keep_rows(journal)

    def end(self, *, whole: bool) -> bool:
        """Store whether the run is whole: the session went to its end, and all that was planned is stored.

        Returns whether it is. A run without this entry counts as one that died.
        """
        whole = whole and not self.unsaved and self._is_covered
        if self._journal is not None:
            with suppress(StoreError):
                self._journal.end(whole=whole)
            self._keep_last_rows(self._journal)
        return whole

    @property
    def _is_covered(self) -> bool:
        """Whether this session planned everything that was left of the run; it may have selected a part."""
        if self._resumed is None:
            return True
        return self._resumed.run.planned <= {*self._resumed.ids, *self._planned()}

    def _keep_last_rows(self, journal: Journal) -> None:
        """Keep the rows of the last records of a long run."""
        from pytest_ngraph.report.study import keep_rows
        from pytest_ngraph.store.outline import rows_path

        if self._gains or rows_path(journal.path).exists():
            keep_rows(journal.path)

    def close(self) -> None:
        """Close the run."""
        journal = self._resumed.journal if self._resumed else self._journal
        if journal is not None:
            journal.close()
