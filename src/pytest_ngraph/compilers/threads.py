"""Bind threads to cores.

A worker starts with `OMP_PROC_BIND=true` and one place per core, so that OpenMP, and with it PyTorch, binds thread i to
core i. OpenMP also binds the calling thread, as soon as torch is imported. Every thread that another library creates
later inherits that one core: unless the calling thread's mask is widened first, a pool of two threads computes on one
core. Leaving threads unbound is no alternative: that is most of the noise between two equal models.

Compiling is not timed against anything, and may use every core of the device: `on_all_cores`.

In a user's own process no mask is touched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from pytest_ngraph.system.affinity import on_cores

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target


BOUND = "PYTEST_NGRAPH_BOUND"
"""Environment variable of processes whose threads are to be bound to cores."""
COMPILING = "PYTEST_NGRAPH_COMPILING_CORES"
"""Environment variable that names the logical CPUs that compiling may use: `0,1,2,3`."""


def is_bound() -> bool:
    """Return whether this process was started with its threads bound to cores, on a system that can bind them.

    OpenMP's own variables are not asked: users' scripts also set them, for processes whose masks must not be touched.
    """
    return sys.platform == "linux" and BOUND in os.environ


@contextmanager
def spread(target: Target) -> Iterator[None]:
    """Let threads that a library creates inside this context use all of the target's cores.

    Afterwards the calling thread has the cores that it had before: its own one, unless it compiles.
    """
    with _on(target.cores):
        yield


@contextmanager
def on_all_cores() -> Iterator[None]:
    """Let this thread, and what it starts inside this context, use all cores that compiling may use.

    A thread that has not imported torch is not bound yet, and is left alone.
    """
    if "torch" in sys.modules:
        with _on(compiling_cores()):
            yield
    else:
        yield


def use_all_cores() -> None:
    """Let this thread, and what it starts from now on, use all cores that compiling may use."""
    if is_bound() and sys.platform == "linux":
        os.sched_setaffinity(0, compiling_cores())


@contextmanager
def on_first_core(target: Target) -> Iterator[None]:
    """Keep this thread on the core on which it will compute: it times kernels while it compiles."""
    with _on(target.cores[:1]):
        yield


def compiling_cores() -> tuple[int, ...]:
    """Return the logical CPUs that compiling may use: those that the bench names, else those of this thread."""
    if is_bound() and (named := os.environ.get(COMPILING)):
        return tuple(map(int, named.split(",")))
    if sys.platform == "linux":
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def bind(helpers: Iterable[int], cores: tuple[int, ...]) -> None:
    """Bind threads that a library started and cannot bind itself to one core each, if this process binds threads.

    Args:
        helpers: thread ids.
        cores: the first is for the first thread, and so on.
    """
    if is_bound() and sys.platform == "linux":
        for thread, core in zip(helpers, cores, strict=False):
            os.sched_setaffinity(thread, {core})


@contextmanager
def _on(cores: Iterable[int]) -> Iterator[None]:
    if not is_bound():
        yield
        return
    # Importing torch binds this thread. Imported first, it cannot undo the change from inside the context.
    import_module("torch")
    with on_cores(cores):
        yield
