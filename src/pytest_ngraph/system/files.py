"""Writing files and lines whole, reading small files, their digests, locks on them, and the user's folders."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import tempfile
from functools import cache
from pathlib import Path

from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.system.support import cannot_measure

UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)
"""What a file system answers that cannot lock a file, or wait until a folder is on disk."""


def write_whole(path: Path, text: bytes, *, mode: int = 0o600) -> None:
    """Write or replace a file, completely or not at all. Raise `StoreError` if it cannot be written."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as scratch:
            staged = Path(scratch, path.name)
            staged.touch(mode=0o600)
            staged.chmod(mode)
            with staged.open("wb") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            staged.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}.") from error


def append(path: Path, line: str) -> None:
    """Append a line to a file that only this user can read, all of it or nothing, and wait until it is on disk.

    Raises:
        OSError: it cannot be written, or not all of it.
    """
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        try:
            write_line(file, line)
        except OSError:
            os.ftruncate(file, size)
            raise
    finally:
        os.close(file)


def write_line(file: int, line: str) -> None:
    """Append a line to an open file, and wait until it is on disk. If the last line was cut short, end it first.

    Raises:
        OSError: it cannot be written. A part of it may be.
    """
    text = f"{line}\n".encode() if ends_whole(file) else f"\n{line}\n".encode()
    if os.write(file, text) < len(text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def ends_whole(file: int) -> bool:
    """Return whether an open file is empty or ends with a newline."""
    size = os.fstat(file).st_size
    return size == 0 or os.pread(file, 1, size - 1) == b"\n"


def text_of(path: Path) -> str:
    """Return a small file's text without the space around it; empty where it cannot be read.

    Names that others gave, as of what is mounted, need not be UTF-8: they have replacement characters.
    """
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def is_digest(text: str) -> bool:
    """Return whether a text can be a SHA-256 in hexadecimal, as some folders are named."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def size_bytes(path: Path) -> int:
    """Return the size of a file, or of a link itself; 0 if another process has removed it."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def sha256(path: Path) -> str:
    """Return a file's SHA-256, read in parts."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def make_private(folder: Path) -> None:
    """Make a folder, and those around it that are missing, for this user only, whatever the umask."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:  # another process has just made it
            continue
        path.chmod(0o700)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of files is on disk, so that a new file survives a power failure.

    Some network and FUSE file systems cannot wait for that. There nothing is done.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def take(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock on an open file or folder until the descriptor is closed. Return False if another process holds it.

    The kernel frees the lock when its owner dies, so an owner is always alive.

    Args:
        descriptor: the open file or folder. On NFS, an exclusive lock needs a file that is open for writing (flock(2)).
        shared: take a shared lock, so that several processes can ask at the same time.

    Raises:
        UsageError: the system has no POSIX locks.
        OSError: this file cannot be locked; `UNSUPPORTED` has the numbers for a file system without locks.
    """
    try:
        import fcntl  # not at the top: a Windows machine that only has the plugin installed must be able to run pytest
    except ImportError:
        raise UsageError(f"{cannot_measure()}.") from None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def has_locks_of_parts(folder: Path) -> bool:
    """Return whether parts of files in a folder can be locked (fcntl(2)), as far as that can be tried there."""
    try:
        import fcntl

        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except ImportError:
        return True
    except OSError as error:
        return error.errno not in UNSUPPORTED
    return True


def state_folder() -> Path:
    """Return the folder of what is kept for the user, and cannot be made again. Raise `UsageError` as `user_folder`."""
    return _folder_of_user("XDG_STATE_HOME", ".local/state", "certificates and a device's results")


def user_folder() -> Path:
    """Return the folder of the user's caches, whose files can be made again.

    Raises:
        UsageError: the user has no home, as in some containers.
    """
    return _folder_of_user("XDG_CACHE_HOME", ".cache", "caches")


def _folder_of_user(variable: str, usual: str, kept: str) -> Path:
    try:
        return Path(os.environ.get(variable) or Path.home() / usual) / "pytest-ngraph"
    except RuntimeError:
        raise UsageError(
            f"user {os.getuid()} has no home folder for {kept}. Set {variable} to a folder of this user."
        ) from None


def compiled_folder() -> Path:
    """Return the default folder of compiled artifacts."""
    return user_folder() / "compiled"


_resolved_folder = cache(os.path.realpath)


def resolved_code(file: str) -> str:
    """Return the path of a module's file with its links resolved. A process looks at each folder once.

    A process has thousands of modules in hundreds of folders, and looks at all of them for each case. Some have only a
    name, as `torch.ops` has: they are where the process is now.
    """
    if not os.path.isabs(file):  # noqa: PTH117 (thousands of texts)
        return os.path.realpath(file)
    folder, name = os.path.split(file)
    place = os.path.join(_resolved_folder(folder), name)  # noqa: PTH118 (thousands of texts)
    return os.path.realpath(place) if os.path.islink(place) else place  # noqa: PTH114
