"""Where arms are prepared: in whose workers, under which settings, and who hears of it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ngraph.bench.arm import Arm
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.workers import Workers
from pytest_ngraph.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """Has arms compiled and measured.

    Attributes:
        workers: start the processes that do so.
        settings: how long they may take, and what is cached.
        progress: is notified.
    """

    workers: Workers
    settings: Settings
    progress: Progress

    def prepare(self, arm: Arm) -> None:
        """Compile, warm up and verify an arm."""
        arm.prepare(
            on_phase=lambda phase: self.progress.phase(arm.case, phase),
            on_progress=lambda text: self.progress.compiling(arm.case, text),
        )
