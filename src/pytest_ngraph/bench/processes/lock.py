"""A lock by which only one process at a time measures on a machine, whichever user started it."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import take

POLL_S = 0.5
REMIND_S = 30.0
LOCKS = Path("/proc/locks")
"""What Linux says of locks: proc_locks(5)."""
MODE = 0o666
"""Every user locks the file, and on NFS, who takes an exclusive lock must be allowed to write. Nothing is written."""
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def _machine() -> str:
    """Return a name for this machine: the same in all its containers, and another on each that shares a folder."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return platform.node()


LOCK = Path(tempfile.gettempdir()) / f"pytest-ngraph-measuring-{_machine()}.lock"


@contextmanager
def exclusive(
    on_wait: Callable[[str], None], path: Path = LOCK, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Hold the machine, waiting for it as long as needed.

    The kernel frees the lock when its holder dies, so it is never stale.

    Args:
        on_wait: called if another process holds the machine, and again every half minute, with a text that says so.

    Raises:
        UsageError: the file cannot be opened or locked.
    """
    descriptor = _open(path)
    try:
        polls = 0
        while not _take(descriptor, path):
            if polls * POLL_S % REMIND_S == 0:
                on_wait(f"{_holder(descriptor)} is measuring on this machine{_since(polls * POLL_S)}")
            polls += 1
            sleep(POLL_S)
        yield
    finally:
        os.close(descriptor)


def is_held(path: Path = LOCK) -> bool:
    """Return whether some process holds the machine. Raise `UsageError` if the file cannot be opened or locked."""
    descriptor = _open(path)
    try:
        return not _take(descriptor, path, shared=True)
    finally:
        os.close(descriptor)


def _holder(descriptor: int) -> str:
    """Return who holds the lock on an open file: `process 4711`, where this process can see which one."""
    inode = f":{os.fstat(descriptor).st_ino} "
    with suppress(OSError):
        for line in LOCKS.read_text().splitlines():
            kind, pid = line.split()[1], line.split()[4]
            if kind == "FLOCK" and inode in line and pid != "0":
                return f"process {pid}"
    return "another process"


def _since(waited_s: float) -> str:
    return f", waited for {waited_s:.0f} s so far" if waited_s else ""


def _take(descriptor: int, path: Path, *, shared: bool = False) -> bool:
    try:
        return take(descriptor, shared=shared)
    except OSError as error:
        raise UsageError(
            f"cannot lock {path}, which makes measurements on this machine wait for each other: {error.strerror}. Set "
            f"TMPDIR to a folder whose file system has locks; on NFS, let its owner make the file writable for "
            f"everyone: chmod {MODE:o} {path}"
        ) from None


def _open(path: Path) -> int:
    """Open the file for locking.

    It is opened for writing, as NFS wants it, or else read-only, which is enough on other file systems: the kernel may
    refuse more for another user's file in a shared temporary folder. Opening never waits, whatever somebody has put
    there: a FIFO or a folder can be locked like a file.

    Raises:
        UsageError: the file may not even be read, or cannot be opened.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        while True:
            for access in (os.O_RDWR, os.O_RDONLY):
                with suppress(FileNotFoundError, PermissionError, IsADirectoryError):
                    return os.open(path, flags | access)
            try:
                descriptor = os.open(path, flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, MODE)
            except FileExistsError:
                with suppress(FileNotFoundError):
                    os.close(os.open(path, flags | os.O_RDONLY))  # another has just created it, or it may not be read
                continue
            os.fchmod(descriptor, MODE)  # whatever this user's umask is
            return descriptor
    except OSError as error:
        raise UsageError(
            f"cannot open the lock file {path}, which makes measurements on this machine wait for each other: "
            f"{error.strerror}. Ask its owner to remove it, or to make it writable for everyone: chmod {MODE:o} {path}"
        ) from None
