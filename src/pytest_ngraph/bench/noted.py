"""Phases that are noted as they begin, so that a later session knows what was running."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase


class NotedProgress:
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
