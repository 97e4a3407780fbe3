"""SIGTERM ends a session as Ctrl-C does: with a report of what was measured, and nothing left behind."""

from __future__ import annotations

import signal
import threading

import pytest


def end_on_sigterm(config: pytest.Config) -> None:
    """End on SIGTERM from now until the configuration ends, unless somebody else handles the signal."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        return
    signal.signal(signal.SIGTERM, _end)
    config.add_cleanup(_restore)


def finish() -> None:
    """Let the session end as it is doing. The next signal changes nothing, the one after it kills the process."""
    if signal.getsignal(signal.SIGTERM) is _end:
        signal.signal(signal.SIGTERM, lambda *_: _restore())


def _end(*_: object) -> None:
    """End the session. The next signal kills the process."""
    _restore()
    raise KeyboardInterrupt("terminated (SIGTERM)")


def _restore() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
