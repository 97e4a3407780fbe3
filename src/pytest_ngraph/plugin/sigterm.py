"""SIGTERM ends a session as Ctrl-C does: with a report of what was measured, and nothing left behind."""

from __future__ import annotations

import signal
import threading

import pytest


def end_on_sigterm(config: pytest.Config) -> None:
    """Install this for as long as the configuration lives, unless somebody else handles the signal."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return
    signal.signal(signal.SIGTERM, _end)
    config.add_cleanup(_restore)


def _end(*_: object) -> None:
    """Once: the next one kills."""
    _restore()
    raise KeyboardInterrupt("terminated (SIGTERM)")


def _restore() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
