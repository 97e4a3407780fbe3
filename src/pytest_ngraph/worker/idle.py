"""Calm: no thread of a process computes. OpenMP's spin on for some 5 ms after the last call, on cores that the next
arm is to have."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

TASKS = Path("/proc/self/task")
POLL_S = 0.0005
MOST_S = 0.05


def wait(most_s: float = MOST_S) -> None:
    """Wait until no other thread of this process computes, at most so many seconds: one that never sleeps is measured
    as it is. Returns at once where the kernel does not tell."""
    end = time.monotonic() + most_s
    while "R" in _states() and time.monotonic() < end:
        time.sleep(POLL_S)


def _states() -> Iterator[str]:
    """What the other threads do, as `/proc` has it: R for running."""
    own = str(threading.get_native_id())
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError):  # it ended meanwhile
            if task.name != own:
                yield (task / "stat").read_text().rpartition(")")[2].split()[0]
