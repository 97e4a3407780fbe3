"""The threads of this process, and the logical CPUs that they may run on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def on_cores(cores: Iterable[int]) -> Iterator[None]:
    """Bind this thread, and what it starts inside this context, to logical CPUs; afterwards it has those of before.

    Where the system cannot bind threads (macOS, Windows), nothing happens.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def threads_of_this_process() -> list[int]:
    """Return the ids of the threads that run now, sorted; nothing where the system does not list them."""
    try:
        return sorted(int(task.name) for task in Path("/proc/self/task").iterdir())
    except OSError:
        return []
