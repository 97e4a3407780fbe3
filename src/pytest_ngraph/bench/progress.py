"""What a bench tells while it works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pytest_ngraph.case import Case
    from pytest_ngraph.record import Phase
from collections.abc import Callable
from contextlib import suppress

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase


class Progress(Protocol):
    def planned(self, case: Case) -> None:
        """A case will be measured."""
        ...

    def finished(self, case: Case) -> None:
        """A case has its record."""
        ...

    def waiting(self, reason: str) -> None:
        """The bench waits."""
        ...

    def phase(self, case: Case, phase: Phase) -> None:
        """A case enters a phase."""
        ...

    def compiling(self, case: Case, text: str) -> None:
        """A case's compiler tells how far it is."""
        ...

    def measuring(self, case: Case, share: float) -> None:
        """A round of a case is done; `share` of its group's budget is spent."""
        ...


class Silent:
    """Tells nothing."""

    def planned(self, case: Case) -> None: ...

    def finished(self, case: Case) -> None: ...

    def waiting(self, reason: str) -> None: ...

    def phase(self, case: Case, phase: Phase) -> None: ...

    def compiling(self, case: Case, text: str) -> None: ...

    def measuring(self, case: Case, share: float) -> None: ...


class JournaledProgress:
    """Tells another `Progress`. A phase that cannot be noted disturbs no measurement: storing the record will tell."""

    def __init__(self, progress: Progress, note: Callable[[Case, Phase], None]) -> None:
        self._note = note
        self.planned = progress.planned
        self.finished = progress.finished
        self.waiting = progress.waiting
        self.compiling = progress.compiling
        self.measuring = progress.measuring
        self._phase = progress.phase

    def phase(self, case: Case, phase: Phase) -> None:
        """Note it, and tell."""
        with suppress(StoreError):
            self._note(case, phase)
        self._phase(case, phase)
