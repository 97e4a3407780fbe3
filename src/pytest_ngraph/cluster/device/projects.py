"""Projects unpacked on a device, up to a limit."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tarfile
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import IO

from pytest_ngraph.cluster.project import LIMIT_BYTES
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import is_digest, size_bytes, take

KEPT = 4
"""How many projects stay unpacked, besides those in use."""
UNFINISHED = ".unfinished-"
AT_ONCE = 2**20
"""How many bytes of an archive are in memory at a time: boards have little of it, and share it with their GPU."""
_UNPACKING = threading.Lock()


class ProjectGone(NgraphError):
    """A project that is not on this device, or not any more."""


class Projects:
    """Holds each project in a folder named by its digest. Only the device's own process unpacks.

    Removes the least recently used projects first, but none that any process holds.

    Args:
        folder: holds them.
        kept: how many projects stay unpacked, besides those in use.
        limit_bytes: the most that the files of one may have together.
    """

    def __init__(self, folder: Path, kept: int = KEPT, limit_bytes: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._kept = kept
        self._limit_bytes = limit_bytes

    def has(self, digest: str) -> bool:
        """Return whether the project is unpacked."""
        return (self._folder / digest).is_dir()

    def unpack(self, digest: str, archive: Path) -> None:
        """Make the project's folder, completely or not at all, unless it exists.

        Args:
            digest: as in `cluster.project.Packed`.
            archive: the file that holds its `content`.

        Raises:
            NgraphError: the archive does not match its digest, has an entry that leads out of it, or holds too much;
                or it cannot be read, or the folder cannot be written.
        """
        with _UNPACKING:
            if self.has(digest):
                return
            try:
                self._unpack(digest, archive)
            except (OSError, tarfile.TarError) as error:
                raise NgraphError(f"the project cannot be unpacked on this device: {error}.") from None
            with suppress(OSError):  # another process removes projects as well
                self._shrink()

    def remove(self, digest: str) -> None:
        """Remove a project, unless a process holds it."""
        with _UNPACKING:
            self._remove(self._folder / digest)

    def clear(self) -> None:
        """Remove all projects that no process holds, and what an interrupted unpacking left."""
        with _UNPACKING, suppress(FileNotFoundError):
            for folder in [*self._found(), *self._folder.glob(f"{UNFINISHED}*")]:
                self._remove(folder)

    @contextmanager
    def held(self, digest: str) -> Iterator[Path]:
        """Yield the project's folder, and keep it from being removed. Raises `ProjectGone`."""
        folder = self._folder / digest
        with _locked(folder, shared=True) as locked:
            if not locked or not folder.is_dir():
                raise ProjectGone(f"project {digest[:12]} is not on this device any more: run the case again.")
            os.utime(folder)
            yield folder

    def bound(self, limit_bytes: int) -> None:
        """Remove the least recently used projects until the rest has at most so many bytes."""
        if not self._folder.is_dir():
            return
        with _UNPACKING:
            sizes = {folder: _size_bytes(folder) for folder in self._oldest_first()}
            excess = sum(sizes.values()) - limit_bytes
            for folder, size in sizes.items():
                if excess <= 0:
                    return
                if self._remove(folder):
                    excess -= size

    def _oldest_first(self) -> list[Path]:
        return sorted(self._found(), key=lambda path: path.stat().st_mtime_ns)

    def _found(self) -> list[Path]:
        """Return the folders of projects. Whatever else lies there is the user's, who named the folder."""
        return [path for path in self._folder.iterdir() if is_digest(path.name)]

    def _unpack(self, digest: str, archive: Path) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left_over in self._folder.glob(f"{UNFINISHED}*"):
            _remove_all(left_over)
        unfinished = Path(tempfile.mkdtemp(dir=self._folder, prefix=UNFINISHED))
        try:
            if _digest(archive) != digest:
                raise NgraphError("the archive of the project arrived damaged.")
            _extract(archive, unfinished, self._limit_bytes)
            unfinished.rename(self._folder / digest)
        finally:
            _remove_all(unfinished)

    def _shrink(self) -> None:
        for folder in self._oldest_first()[: -self._kept]:
            self._remove(folder)

    @staticmethod
    def _remove(folder: Path) -> bool:
        """Remove a project, unless a process holds it. Returns whether it was removed.

        It has another name first: what is removed in part is no project any more.
        """
        with _locked(folder) as locked:
            if not locked:
                return False
            try:
                _remove_all(folder.rename(folder.with_name(f"{UNFINISHED}{time.time_ns()}")))
            except OSError:  # the disk is read-only
                return False
            return True


def _remove_all(folder: Path) -> None:
    """Remove a folder as far as possible, with the folders in it that submitted code has made read-only."""
    with suppress(OSError):
        folder.chmod(0o700)
    for place, folders, _ in os.walk(folder):
        for each in (Path(place) / name for name in folders):
            with suppress(OSError):
                if not each.is_symlink():
                    each.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _size_bytes(folder: Path) -> int:
    """Return the size of all files in a folder, without those that another process removes."""
    return sum(size_bytes(Path(place) / name) for place, _, files in os.walk(folder) for name in files)


@contextmanager
def _locked(folder: Path, *, shared: bool = False) -> Iterator[bool]:
    """Hold the folder's lock. Yields False if another process holds it, or if there is no folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        yield take(descriptor, shared=shared)
    finally:
        os.close(descriptor)


def _digest(archive: Path) -> str:
    """Return the SHA-256 of an archive's content; empty if that cannot be decompressed."""
    digest = hashlib.sha256()
    try:
        with gzip.open(archive) as plain:
            while content := plain.read(AT_ONCE):
                digest.update(content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return ""
    return digest.hexdigest()


def _extract(archive: Path, folder: Path, limit_bytes: int) -> None:
    """Write the archive's files, then its links, so that no file is written through a link."""
    links = []
    left = limit_bytes
    with tarfile.open(archive, "r|gz") as tar:
        for entry in tar:
            _check(entry)
            if entry.issym():
                links.append(entry)
                continue
            left -= entry.size
            if left < 0:
                raise NgraphError(f"the files of the project have more than {limit_bytes / 2**20:.0f} MiB.")
            content = tar.extractfile(entry)
            assert content is not None
            _write(folder / entry.name, content, 0o755 if entry.mode & 0o100 else 0o644)
    for entry in links:
        place = folder / entry.name
        _refuse_outside(place.parent, folder, entry)  # an earlier link may be part of this one's path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(entry.linkname)
    for entry in links:
        _refuse_outside(folder / entry.name, folder, entry)


def _refuse_outside(path: Path, folder: Path, entry: tarfile.TarInfo) -> None:
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise NgraphError(f"the archive of the project has a link that leads out of it: {entry.name}.")


def _check(entry: tarfile.TarInfo) -> None:
    path = PurePosixPath(entry.name)
    if not (entry.isfile() or entry.issym()) or path.is_absolute() or ".." in path.parts:
        raise NgraphError(f"the archive of the project has an entry that is no file or link inside it: {entry.name!r}.")


def _write(path: Path, content: IO[bytes], mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        shutil.copyfileobj(content, file, AT_ONCE)
    path.chmod(mode)
