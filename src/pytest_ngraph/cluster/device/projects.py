"""Projects unpacked on a device, a bounded number of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.system.files import take

KEPT = 4
"""Projects that stay unpacked, beside those in use."""
UNFINISHED = ".unfinished-"
_UNPACKING = threading.Lock()


class Projects:
    """A folder for each project, named by its digest. The least recently used go first, and never one that is held, by
    whichever process. Only the device's own process unpacks."""

    def __init__(self, folder: Path, kept: int = KEPT) -> None:
        self._folder = folder
        self._kept = kept

    def has(self, digest: str) -> bool:
        return (self._folder / digest).is_dir()

    def unpack(self, packed: Packed) -> None:
        """Make the project's folder, whole or not at all, unless it is there. Raises `NgraphError` for an archive that
        is not what its digest says, and where there is no room."""
        with _UNPACKING:
            if self.has(packed.digest):
                return
            try:
                self._unpack(packed)
            except OSError as error:
                raise NgraphError(f"the project cannot be unpacked on this device: {error}.") from None
            self._shrink()

    @contextmanager
    def held(self, digest: str) -> Iterator[Path]:
        """The project's folder, which is not removed meanwhile. Raises `NgraphError` where there is none."""
        folder = self._folder / digest
        with _locked(folder, shared=True) as locked:
            if not locked or not folder.is_dir():
                raise NgraphError(f"project {digest[:12]} is not on this device any more: run the case again.")
            os.utime(folder)
            yield folder

    def _unpack(self, packed: Packed) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left_over in self._folder.glob(f"{UNFINISHED}*"):
            shutil.rmtree(left_over, ignore_errors=True)
        unfinished = Path(tempfile.mkdtemp(dir=self._folder, prefix=UNFINISHED))
        try:
            _extract(packed, unfinished)
            unfinished.rename(self._folder / packed.digest)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _shrink(self) -> None:
        folders = [path for path in self._folder.iterdir() if not path.name.startswith(".")]
        folders.sort(key=lambda path: path.stat().st_mtime_ns)
        for folder in folders[: -self._kept]:
            with _locked(folder) as locked:
                if locked:
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _locked(folder: Path, *, shared: bool = False) -> Iterator[bool]:
    """Hold the folder's lock; False where another holds it, or where there is no folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield False
        return
    try:
        yield take(descriptor, shared=shared)
    finally:
        os.close(descriptor)


def _extract(packed: Packed, folder: Path) -> None:
    """Write the archive's files, then its links: so no file is written through a link."""
    try:
        plain = gzip.decompress(packed.content)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        plain = b""
    if hashlib.sha256(plain).hexdigest() != packed.digest:
        raise NgraphError("the archive of the project arrived damaged.")
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        entries = tar.getmembers()
        for entry in entries:
            _check(entry)
            if entry.isfile():
                content = tar.extractfile(entry)
                assert content is not None
                _write(folder / entry.name, content.read(), 0o755 if entry.mode & 0o100 else 0o644)
    links = [entry for entry in entries if entry.issym()]
    for entry in links:
        place = folder / entry.name
        _refuse_outside(place.parent, folder, entry)  # a link that was made before may be on the way to this one
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
        raise NgraphError(f"the archive of the project has an entry that is none of its files: {entry.name!r}.")


def _write(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
