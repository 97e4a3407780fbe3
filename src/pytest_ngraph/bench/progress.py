"""Notifications of a bench while it works."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError

if TYPE_CHECKING:
    from pytest_ngraph.record import Phase


class Progress(Protocol):
    """Is notified of what a bench does with its cases."""

    def planned(self, case: Case) -> None:
        """A case is going to be measured."""
        ...

    def finished(self, case: Case) -> None:
        """A case has its record."""
        ...

    def waiting(self, reason: str) -> None:
        """The bench waits for this reason."""
        ...

    def phase(self, case: Case, phase: Phase) -> None:
        """A case enters a phase."""
        ...

    def doing(self, case: Case, text: str) -> None:
        """What is done with a case, in words."""
        ...

    def measuring(self, case: Case, share: float) -> None:
        """A round of a case is done; `share` of its group's budget is spent."""
        ...


class Silent:
    """Ignores every notification."""

    def planned(self, case: Case) -> None: ...

    def finished(self, case: Case) -> None: ...

    def waiting(self, reason: str) -> None: ...

    def phase(self, case: Case, phase: Phase) -> None: ...

    def doing(self, case: Case, text: str) -> None: ...

    def measuring(self, case: Case, share: float) -> None: ...


class JournaledProgress:
    """Writes each phase down and passes every notification on to another `Progress`.

    A phase that cannot be written down does not stop the measurement: storing the record will report the error.

    Args:
        progress: gets every notification.
        note: writes down that a case enters a phase. May raise `StoreError`.
    """

    def __init__(self, progress: Progress, note: Callable[[Case, Phase], None]) -> None:
        self._note = note
        self.planned = progress.planned
        self.finished = progress.finished
        self.waiting = progress.waiting
        self.doing = progress.doing
        self.measuring = progress.measuring
        self._phase = progress.phase

    def phase(self, case: Case, phase: Phase) -> None:
        """Write the phase down, then pass it on."""
        with suppress(StoreError):
            self._note(case, phase)
        self._phase(case, phase)
