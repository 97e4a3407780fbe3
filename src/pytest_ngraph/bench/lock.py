"""One measurement at a time on a machine, whoever asks for it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import take

LOCK = Path(tempfile.gettempdir()) / "pytest-ngraph-measuring.lock"
POLL_S = 0.5
MODE = 0o644


@contextmanager
def exclusive(
    on_wait: Callable[[], None], path: Path = LOCK, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Hold the machine. `on_wait` is called once when another process holds it.

    The kernel frees the lock when its holder dies, so it is never stale.
    """
    descriptor = _open(path)
    try:
        waiting = False
        while not take(descriptor):
            if not waiting:
                on_wait()
                waiting = True
            sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path = LOCK) -> bool:
    """Whether somebody holds the machine."""
    descriptor = _open(path)
    try:
        return not take(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open for locking. Another user's file is opened for reading only: that is enough to lock it, and the kernel
    refuses more in a shared temporary folder. Raises `UsageError` where even that is not allowed."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with suppress(FileNotFoundError):
            return os.open(path, flags)
        descriptor = os.open(path, flags | os.O_CREAT, MODE)
        with suppress(PermissionError):  # somebody else has made it meanwhile
            os.fchmod(descriptor, MODE)  # whatever the user's mask is: all users lock it
    except PermissionError:
        raise UsageError(
            f"{path} cannot be opened, with which measurements on this machine wait for each other. Have its owner "
            f"remove it, or make it readable for all: chmod {MODE:o} {path}"
        ) from None
    return descriptor
