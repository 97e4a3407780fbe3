"""The project under test as one archive, named by its content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph.cluster.files import project_files
from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import counted

LIMIT_BYTES = 256 * 2**20
NAMED = 5
"""How many files the message names when a project is too big."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A project as a tar archive.

    Attributes:
        digest: SHA-256 of the uncompressed archive, which holds no times and no owners.
        content: the archive, compressed with gzip.
    """

    digest: str
    content: bytes


def pack(root: Path, leave_out: Collection[Path] = (), limit_bytes: int = LIMIT_BYTES) -> Packed:
    """Return the project's files as one archive, which depends only on their names, contents and modes.

    Args:
        root: the project's top folder.
        leave_out: files and folders that are not packed, such as the store.
        limit_bytes: the most that the files may have together.

    Raises:
        UsageError: a link leads out of the project, a file cannot be read, or the project is too big.
    """
    root = root.resolve()
    stays = {path.resolve() for path in leave_out}
    files = sorted(path for path in project_files(root) if stays.isdisjoint((path, *path.parents)))
    archive = io.BytesIO()
    try:
        _check_size(root, files, limit_bytes)
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in files:
                _add(tar, root, path)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be sent to a device: {error.strerror}. Make it readable, or list it in "
            ".gitignore."
        ) from None
    plain = archive.getvalue()
    return Packed(digest=hashlib.sha256(plain).hexdigest(), content=gzip.compress(plain, compresslevel=1, mtime=0))


def _check_size(root: Path, files: Sequence[Path], limit_bytes: int) -> None:
    sizes = {path: path.lstat().st_size for path in files}
    total = sum(sizes.values())
    if total <= limit_bytes:
        return
    biggest = sorted(files, key=sizes.__getitem__, reverse=True)[:NAMED]
    named = ", ".join(f"{path.relative_to(root)} ({_mebibytes(sizes[path])})" for path in biggest)
    raise UsageError(
        f"{root} has {_mebibytes(total)} in {counted(len(files), 'file')}; at most {_mebibytes(limit_bytes)} can be "
        f"sent to a device. The biggest: {named}. List what the benchmarks do not need in .gitignore."
    )


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def _add(tar: tarfile.TarFile, root: Path, path: Path) -> None:
    entry = tarfile.TarInfo(path.relative_to(root).as_posix())
    if path.is_symlink():
        entry.type = tarfile.SYMTYPE
        entry.linkname = _target(root, path)
        tar.addfile(entry)
        return
    content = path.read_bytes()
    entry.size = len(content)
    entry.mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
    tar.addfile(entry, io.BytesIO(content))


def _target(root: Path, link: Path) -> str:
    """Return a link's target as a relative path. Raises `UsageError` if it leads out of the project."""
    target = os.readlink(link)  # noqa: PTH115 (the text as it stands)
    place = Path(os.path.realpath(link))  # unlike `resolve`, it accepts links in a circle
    if not place.is_relative_to(root):
        raise UsageError(
            f"the link {link.relative_to(root)} leads out of the project, to {target}, which a device does not have. "
            "Replace it with its target, or list it in .gitignore."
        )
    return os.path.relpath(place, link.parent) if Path(target).is_absolute() else target
