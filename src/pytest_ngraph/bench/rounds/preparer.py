"""Prepares arms, with what that needs and whom to notify."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_ngraph.bench.processes.workers import Workers
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.arm import Arm
from pytest_ngraph.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """Has arms compiled, loaded and verified.

    Attributes:
        workers: start the processes in which that is done.
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
            on_progress=lambda text: self.progress.doing(arm.case, text),
        )
