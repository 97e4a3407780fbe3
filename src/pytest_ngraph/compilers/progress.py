"""Report how far a compiler is: one that takes minutes reports it, and its caller may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def report(text: str) -> None:
    """Report how far the compiler is, in a few words. A report also shows that the compiler has not hung."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


@contextmanager
def reporting_to(listener: Listener) -> Iterator[None]:
    """Pass what compilers report inside this context to the listener."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
