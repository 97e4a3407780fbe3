"""The live line behind pytest's own, and the lines of -v."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.clock import Clock

if TYPE_CHECKING:
    from pytest_ngraph.record import Phase

SAVE, RESTORE_AND_ERASE = "\x1b7", "\x1b8\x1b[K"
UPDATE_S = 0.2
BEAT_S = 30.0
"""Seconds between two lines where the output is no terminal."""


class Status:
    """A live line behind pytest's own on a terminal.

    Where the output is no terminal, a line every half minute, or as soon after as something happens; with -v, a line
    per phase as well. It says which case is in which phase, how many are done, and about how long the rest will take.
    """

    def __init__(self, config: pytest.Config, clock: Clock = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._planned = 0
        self._doing: dict[str, str] = {}
        self._finished = 0
        self._started: float | None = None
        self._finished_at = 0.0
        self._shown_at = float("-inf")
        self._said_at: float | None = None
        self._waiting_at: float | None = None
        self._shown = False

    def planned(self, case: Case) -> None:
        self._planned += 1

    def finished(self, case: Case) -> None:
        self._finished += 1
        self._doing.pop(case.device, None)
        self._finished_at = self._clock()
        self._erase()

    def waiting(self, reason: str) -> None:
        self._show(f"waiting: {reason}", brief=False, waits=True)

    def doing(self, case: Case, text: str) -> None:
        self._show(self._beside_others(case, f"{case.compiler} {case.group_label}: {text}"), brief=False)

    def phase(self, case: Case, phase: Phase) -> None:
        self.doing(case, phase)

    def measuring(self, case: Case, share: float) -> None:
        text = self._beside_others(case, f"{case.group_label}: measure {min(100, round(100 * share))} %")
        if self._clock() - self._shown_at >= UPDATE_S:
            self._show(text, brief=True)

    def _beside_others(self, case: Case, text: str) -> str:
        """Return what the case's device does, after what the others do."""
        self._doing.pop(case.device, None)
        self._doing[case.device] = text
        return " | ".join(self._doing.values())

    def _show(self, what: str, *, brief: bool, waits: bool = False) -> None:
        """Show a text.

        Args:
            brief: it is of a part of a phase, and shown on a live terminal only.
            waits: the run waits. The text is always shown, and this time does not count for what is left.
        """
        if self._started is None:
            self._started = self._clock()
        if self._waiting_at is not None:
            waited_s = self._clock() - self._waiting_at
            self._started, self._finished_at = self._started + waited_s, self._finished_at + waited_s
        self._waiting_at = self._clock() if waits else None
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or self._config.get_verbosity() < 0:
            return
        self._shown_at = self._clock()
        text = f" [{what}; {self._finished + 1} of {self._planned}{self._left()}]"
        if reporter.isatty:
            width = reporter._tw.fullwidth
            room = width - reporter._tw.width_of_current_line % width - 1
            self._write(reporter, (RESTORE_AND_ERASE if self._shown else SAVE) + text[:room])
            self._shown = True
        elif waits or (not brief and self._config.get_verbosity() > 0) or self._is_due():
            self._write(reporter, text + "\n")
            self._said_at = self._shown_at

    def _is_due(self) -> bool:
        """Return whether nothing was said for half a minute."""
        if self._said_at is None:
            self._said_at = self._shown_at
        return self._shown_at - self._said_at >= BEAT_S

    def _erase(self) -> None:
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if self._shown and reporter is not None:
            self._write(reporter, RESTORE_AND_ERASE)
        self._shown = False

    def _left(self) -> str:
        """Return about how long the run still takes; empty where nothing is known, or that time is over."""
        if not self._finished or self._started is None:
            return ""
        per_case = (self._finished_at - self._started) / self._finished
        since = self._clock() - self._finished_at
        seconds = per_case * (self._planned - self._finished) - since
        if seconds < 1:
            return ""
        return f", about {max(1, round(seconds / 60))} min left" if seconds >= 60 else f", about {seconds:.0f} s left"

    def _write(self, reporter: Any, text: str) -> None:
        """Write past pytest's capture, which is on while a test runs, and past its count of the line's width."""
        capture: Any = self._config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():  # `-p no:capture`
            reporter._tw._file.write(text)
            reporter._tw._file.flush()
