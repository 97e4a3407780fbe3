"""A lock by which only one process at a time measures on a machine, whichever user started it."""

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
    """Hold the machine, waiting for it as long as needed.

    The kernel frees the lock when its holder dies, so it is never stale.

    Args:
        on_wait: called once if another process holds the machine.
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
    """Return whether some process holds the machine."""
    descriptor = _open(path)
    try:
        return not take(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open the file for locking.

    It is opened read-only. That is enough to lock it, and the kernel refuses more for another user's file in a shared
    temporary folder.

    Raises:
        UsageError: the file may not even be read.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        with suppress(FileNotFoundError):
            return os.open(path, flags)
        descriptor = os.open(path, flags | os.O_CREAT, MODE)
        with suppress(PermissionError):  # another user has just created it
            os.fchmod(descriptor, MODE)  # whatever this user's umask is: every user locks it
    except PermissionError:
        raise UsageError(
            f"cannot open the lock file {path}, which makes measurements on this machine wait for each other. Ask its "
            f"owner to remove it, or to make it readable for everyone: chmod {MODE:o} {path}"
        ) from None
    return descriptor
