"""Files that are written whole or not at all, locks on them, and the folder of a user's files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from pytest_ngraph.errors import StoreError, UsageError


def write_whole(path: Path, text: bytes) -> None:
    """Write a file, or replace one. Raises `StoreError` when it cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as scratch:
            staged = Path(scratch, path.name)
            staged.touch(mode=0o600)
            with staged.open("wb") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            staged.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}.") from error


def take(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock on an open file or folder, until the descriptor is closed. False if another holds it.

    The kernel frees the lock when its owner dies, so that whoever holds one is alive. Raises `UsageError` on a system
    without POSIX locks.

    shared: ask without blocking others who ask at the same time.
    """
    try:
        import fcntl  # not at the top: a Windows machine that only has the plugin installed must be able to run pytest
    except ImportError:
        raise UsageError("pytest-ngraph measures on Linux and macOS: this system has no POSIX locks (fcntl).") from None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def user_folder() -> Path:
    """The folder of a user's files that save work and can be made again.

    Raises `UsageError` for a user who has no home, as in some containers.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-ngraph"
    except RuntimeError:
        raise UsageError(
            f"user {os.getuid()} has no home folder to keep caches in. Set XDG_CACHE_HOME to a folder of this user."
        ) from None


def compiled_folder() -> Path:
    """Where compiled artifacts are kept unless told otherwise."""
    return user_folder() / "compiled"
