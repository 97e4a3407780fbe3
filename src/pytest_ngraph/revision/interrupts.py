"""Ctrl-C and SIGTERM that wait until something short is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold both back until the block is done. Only the main thread ever gets one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {held: signal.signal(held, lambda number, _: waiting.append(number)) for held in HELD}
    try:
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler if handler is not None else signal.SIG_DFL)
        if waiting:
            signal.raise_signal(waiting[0])
