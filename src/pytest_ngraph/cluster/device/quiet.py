"""Keeps what a device does besides measuring apart from its measurements."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_ngraph.bench.processes.lock import LOCK, exclusive

LEASE_S = 30.0
"""How long a measurement waits for a chore of which nothing is heard."""


class Unwanted(Exception):
    """The client that a chore is for has gone, or the device leaves."""


class _Held(Exception):
    """Another process is measuring on this machine."""


class Quiet:
    """Lets either one measurement or the chores of one client take place, such as receiving an archive.

    Chores hold the machine's measuring lock, so that local runs wait for them as well. They are refused while anything
    is measured, rather than delayed: a client asks again when its turn to measure comes.

    Args:
        lease_s: how long chores hold the machine after they were last begun.
        lock: the machine's measuring lock.
        sleep: waits between two looks at the lock.
    """

    def __init__(
        self, lease_s: float = LEASE_S, lock: Path = LOCK, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._lease_s = lease_s
        self._lock = lock
        self._sleep = sleep
        self._state = threading.Condition()
        self._is_measuring = False
        self._owner = ""
        self._held = ExitStack()
        self._expiry: threading.Timer | None = None
        self._unwanted: set[str] = set()
        self._is_closed = False

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Measure. Waits until no chore is under way."""
        with self._state:
            self._state.wait_for(lambda: not self._owner)
            self._is_measuring = True
        try:
            yield
        finally:
            with self._state:
                self._is_measuring = False

    def begin(self, owner: str) -> bool:
        """Begin chores for a client, or go on with them.

        Returns:
            False if something is measured on this machine, or `stop` or `close` was called.
        """
        with self._state:
            if self._is_measuring or self.is_unwanted(owner) or self._owner not in ("", owner):
                return False
            if not self._owner:
                try:
                    self._held.enter_context(exclusive(_refuse, self._lock))
                except _Held:
                    return False
            self._own(owner)
            return True

    def reserve(self, owner: str, on_wait: Callable[[str], None]) -> None:
        """Begin chores for a client, and wait as long as another process measures on this machine.

        Args:
            owner: the client.
            on_wait: called with a text if another process measures, and again every half minute.

        Raises:
            Unwanted: `stop` or `close` was called.
        """

        def sleep(seconds: float) -> None:
            if self.is_unwanted(owner):
                raise Unwanted
            self._sleep(seconds)

        with self._state:
            self._state.wait_for(lambda: not self._owner)
        with ExitStack() as held:
            held.enter_context(exclusive(on_wait, self._lock, sleep))
            with self._state:
                if self.is_unwanted(owner):  # nobody would bring anything
                    raise Unwanted
                self._held.push(held.pop_all())
                self._own(owner)

    def end(self, owner: str) -> None:
        """End the chores of a client, if they are under way."""
        with self._state:
            if self._owner == owner:
                self._release()

    def stop(self, owner: str) -> None:
        """End the chores of a client, now and from now on."""
        self._unwanted.add(owner)
        self.end(owner)

    def close(self) -> None:
        """End all chores for good."""
        self._is_closed = True
        with self._state:
            self._release()

    def is_unwanted(self, owner: str) -> bool:
        """Return whether this client, or all, were stopped."""
        return self._is_closed or owner in self._unwanted

    def _own(self, owner: str) -> None:
        self._owner = owner
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = threading.Timer(self._lease_s, self._expire)
        self._expiry.daemon = True
        self._expiry.start()

    def _expire(self) -> None:
        with self._state:
            if self._expiry is threading.current_thread():
                self._release()

    def _release(self) -> None:
        self._owner = ""
        self._held.close()
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        self._state.notify_all()


def _refuse(reason: str) -> None:
    raise _Held
