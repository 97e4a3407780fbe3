"""Which cores threads compute on.

A worker starts with `OMP_PROC_BIND=true`, one place per core: OpenMP, and so PyTorch, binds thread i to core i. It
binds the calling thread too, as soon as torch is imported, and every thread that another library creates later
inherits that one core: unless its mask is widened first, a pool of two threads computes on one core. Threads left
unbound are no alternative, they are most of the noise between two equal models.

Elsewhere, in a user's own process, no mask is touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target


BOUND = "PYTEST_NGRAPH_BOUND"
"""The variable in the environment of a process whose threads are to be bound to cores."""


def is_bound() -> bool:
    """Whether this process was started with its threads bound to cores, on a system that can bind them. Other people's
    scripts set OpenMP's variables too, for processes whose masks are theirs."""
    return sys.platform == "linux" and BOUND in os.environ


@contextmanager
def spread(target: Target) -> Iterator[None]:
    """Create a library's threads within: they may use all of the target's cores.

    Afterwards the calling thread is bound to the first core, where OpenMP had it.
    """
    if not is_bound():
        yield
        return
    # Its import binds this thread: first, so that it cannot undo the widening from within.
    import_module("torch")
    _bind(target.cores)
    try:
        yield
    finally:
        _bind(target.cores[:1])


def running() -> set[int]:
    """The system's numbers of this process's threads; empty where the system does not list them."""
    tasks = Path("/proc/self/task")
    return {int(task.name) for task in tasks.iterdir()} if tasks.is_dir() else set()


def bind(helpers: Iterable[int], cores: tuple[int, ...]) -> None:
    """Bind threads that a library started, and cannot bind itself, to one core each, where this process's are bound."""
    if is_bound() and sys.platform == "linux":
        for thread, core in zip(helpers, cores, strict=False):
            os.sched_setaffinity(thread, {core})


def _bind(cores: tuple[int, ...]) -> None:
    if sys.platform == "linux":
        os.sched_setaffinity(0, cores)
