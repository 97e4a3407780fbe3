"""Locks on files and folders that the kernel frees when their owner dies: who holds one, lives."""

from __future__ import annotations

try:
    import fcntl
except ImportError:
    raise ImportError("pytest-ngraph measures on Linux and macOS: this system has no locks of POSIX (fcntl).") from None


def take(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock on what is open here, until the descriptor is closed. False if another holds it.

    shared: to ask without standing in the way of others who ask at the same time.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
