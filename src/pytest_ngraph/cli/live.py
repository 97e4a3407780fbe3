"""Shows how far a command is: on a terminal one line that is rewritten, elsewhere a line for each step."""

from __future__ import annotations

import shutil
from typing import TextIO

from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.case import Case
from pytest_ngraph.record import Phase

REWRITE = "\r\x1b[K"


class Live(Silent):
    """Shows a bench's progress.

    Attributes:
        last: text shown last.
    """

    def __init__(self, stream: TextIO) -> None:
        self.last = ""
        self._stream = stream

    def waiting(self, reason: str) -> None:
        self._show(f"waiting: {reason}")

    def doing(self, case: Case, text: str) -> None:
        self._show(f"{case.compiler} {case.group_label}: {text}")

    def phase(self, case: Case, phase: Phase) -> None:
        self.doing(case, phase)

    def end(self, text: str) -> None:
        """Print a line that is not rewritten."""
        self._write(f"{REWRITE if self._stream.isatty() else ''}{text}\n")

    def _show(self, text: str) -> None:
        self.last = text
        room = shutil.get_terminal_size().columns - 1
        self._write(f"{REWRITE}{text[:room]}" if self._stream.isatty() else f"{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()
