"""Wait until this process's other threads are idle.

OpenMP workers keep spinning for about 5 ms after a call, on cores that the next arm needs.
"""

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
    """Wait until no other thread of this process computes, at most `most_s`.

    Returns at once if the kernel does not report what threads do. Threads that never sleep are left to compute.
    """
    end = time.monotonic() + most_s
    while "R" in _states() and time.monotonic() < end:
        time.sleep(POLL_S)


def _states() -> Iterator[str]:
    """Yield the state of each other thread, as in `/proc`: R for running."""
    own = str(threading.get_native_id())
    for task in TASKS.iterdir() if TASKS.exists() else ():
        with suppress(OSError):  # it has ended
            if task.name != own:
                yield (task / "stat").read_text().rpartition(")")[2].split()[0]
