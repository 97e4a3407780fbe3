"""Keeps the thread that answers questions out of the way of measurements."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from pytest_ngraph.machine.cores import Core, allowed


def step_back() -> None:
    """Let this thread run only when a core has nothing else to do (sched(7): SCHED_IDLE).

    Threads and processes that it starts from now on do the same, and none of them can go back.
    """
    if hasattr(os, "SCHED_IDLE"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


@contextmanager
def aside(thread: int, measured: Collection[int]) -> Iterator[None]:
    """Keep a thread off the cores that are measured, while the block runs, if others are left.

    Args:
        thread: its id, as the kernel numbers threads.
        measured: the logical CPUs that are measured.
    """
    cores = spare(allowed(), measured) if hasattr(os, "sched_setaffinity") else []
    if not cores:
        yield
        return
    before = os.sched_getaffinity(thread)
    os.sched_setaffinity(thread, cores)
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(thread, before)


def spare(cores: Collection[Core], measured: Collection[int]) -> list[int]:
    """Return a logical CPU of each physical core of which none is measured."""
    return [core.cpu for core in cores if not set(core.siblings) & set(measured)]
