"""Converting, timed apart from compiling: a compiler marks the part of its work that makes what its library takes.

    with conversion.converting():
        ...

`program.load` and `write_onnx` mark themselves.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pytest_ngraph.clock import Clock


@dataclass(slots=True)
class Conversion:
    """The seconds spent on converting so far."""

    clock: Clock
    seconds: float = 0.0
    is_under_way: bool = False


_TIMED: ContextVar[Conversion | None] = ContextVar("conversion", default=None)


@contextmanager
def timed(clock: Clock = time.perf_counter) -> Iterator[Conversion]:
    """Add up what is marked as converting inside this context, in this thread."""
    conversion = Conversion(clock)
    token = _TIMED.set(conversion)
    try:
        yield conversion
    finally:
        _TIMED.reset(token)


@contextmanager
def converting() -> Iterator[None]:
    """Mark what happens inside this context as converting. Inside another such context it counts once."""
    conversion = _TIMED.get()
    if conversion is None or conversion.is_under_way:
        yield
        return
    started, conversion.is_under_way = conversion.clock(), True
    try:
        yield
    finally:
        conversion.seconds += conversion.clock() - started
        conversion.is_under_way = False
