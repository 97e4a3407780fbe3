"""Room for the frames of Python's functions, so that no call pays for where its frame happens to lie.

Since version 3.11, Python keeps frames in chunks of 16 KiB. A call that no longer fits gets another chunk from the
operating system, which is given back when the call returns. A loop that calls functions across this boundary pays two
system calls each time, several times what the functions compute: at some depths of the stack, and not at others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
SLOTS = 2**16
"""Values that the frame of `with_room` has room for. For it, Python takes a chunk of the next power of two, 1 MiB. What
is left of that is enough for a thousand other frames."""


def with_room(call: Callable[[], Result]) -> Result:
    """Return what a function returns, and let it have the frames of all that it calls in one chunk."""
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=SLOTS)
