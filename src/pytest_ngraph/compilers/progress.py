"""How far a compiler is. One that takes minutes tells; whoever called it may listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def tell(text: str) -> None:
    """Say how far the compiler is, in a few words. Telling also says that it has not hung."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Within, what compilers tell goes to the listener."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
