"""The cyclic garbage collector, turned off or kept from looking at everything, for a while; and memory given back."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

FROZEN_AT_START = gc.get_freeze_count()
"""Python 3.12 itself freezes some objects."""


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Turn off the cyclic garbage collector in this block, which creates hundreds of thousands of lasting objects.

    Importing PyTorch and timm takes a quarter less time, saving an exported program and reading records half.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def with_little_garbage_collection() -> Iterator[None]:
    """Let the cyclic garbage collector look only at what this block creates, and not at what was there before.

    PyTorch and a compiler hold a million objects. To look at them again and again is a good part of what compiling
    takes in Python, the more the longer the process has run. In a forked worker, what it shares with the process that
    it was forked from is not looked at anyway, and stays so: looking at it again would copy it.
    """
    if gc.get_freeze_count() > FROZEN_AT_START:
        yield
        return
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def give_back_memory() -> None:
    """Give memory back to the system that was freed and that the C library keeps, as glibc's does between blocks."""
    import ctypes  # a collecting pytest imports this file, and needs none

    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
