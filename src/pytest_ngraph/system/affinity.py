"""The logical CPUs that this thread, and what it starts, may run on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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
