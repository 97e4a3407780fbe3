"""The project under test as one archive, named by its content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from pytest_ngraph.cluster import secrets
from pytest_ngraph.cluster.files import project_files, repository
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
        sizes: the size in bytes of each file that it holds, by its path in the project.
        left_out: files that look like secrets and are not in it, each with the reason.
    """

    digest: str
    content: bytes
    sizes: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def pack(
    root: Path, leave_out: Collection[Path] = (), send: Sequence[str] = (), limit_bytes: int = LIMIT_BYTES
) -> Packed:
    """Return the project's files as one archive, which depends only on their names, contents and modes.

    Args:
        root: the project's top folder.
        leave_out: files and folders that are not packed, such as the store.
        send: patterns of the files to pack, as `fnmatch` reads them, where `*` also stands for slashes; the name of a
            folder stands for all in it. Without any, all files. A file that is named in full is packed even if it looks
            like a secret.
        limit_bytes: the most that the files may have together.

    Raises:
        UsageError: a link leads out of the project, a file cannot be read, or the project is too big.
    """
    root = root.resolve()
    stays = {path.resolve() for path in leave_out}
    archive = io.BytesIO()
    sizes: dict[str, int] = {}
    try:
        candidates = sorted(path for path in project_files(root) if stays.isdisjoint((path, *path.parents)))
        names = {path: path.relative_to(root).as_posix() for path in candidates}
        left_out = {
            name: reason
            for path, name in names.items()
            if _is_chosen(name, send) and name not in send and (reason := _secret(path, name, limit_bytes))
        }
        files = [path for path, name in names.items() if _is_chosen(name, send) and name not in left_out]
        _check_size(root, files, limit_bytes)
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in files:
                sizes[names[path]] = _add(tar, root, path)
    except OSError as error:
        raise UsageError(
            f"{error.filename} cannot be sent to a device: {error.strerror}. Make it readable, or "
            f"{_keep_out(root, 'list it in .gitignore')}."
        ) from None
    plain = archive.getvalue()
    return Packed(
        digest=hashlib.sha256(plain).hexdigest(),
        content=gzip.compress(plain, compresslevel=1, mtime=0),
        sizes=sizes,
        left_out=left_out,
    )


def _is_chosen(name: str, send: Sequence[str]) -> bool:
    return not send or any(fnmatchcase(name, each) or name.startswith(f"{each.rstrip('/')}/") for each in send)


def _secret(path: Path, name: str, limit_bytes: int) -> str:
    """Return why a file looks like a secret; empty if it does not, or is too big to be sent anyhow."""
    if reason := secrets.by_name(name):
        return reason
    if path.is_symlink() or path.stat().st_size > limit_bytes:
        return ""
    found = secrets.by_content(path)
    return f"it holds {found}" if found else ""


def _check_size(root: Path, files: Sequence[Path], limit_bytes: int) -> None:
    sizes = {path: path.lstat().st_size for path in files}
    total = sum(sizes.values())
    if total <= limit_bytes:
        return
    biggest = sorted(files, key=sizes.__getitem__, reverse=True)[:NAMED]
    named = ", ".join(f"{path.relative_to(root)} ({_mebibytes(sizes[path])})" for path in biggest)
    raise UsageError(
        f"{root} has {_mebibytes(total)} in {counted(len(files), 'file')}; at most {_mebibytes(limit_bytes)} can be "
        f"sent to a device. The biggest: {named}. To send less, "
        f"{_keep_out(root, 'list what the benchmarks do not need in .gitignore')}."
    )


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def _add(tar: tarfile.TarFile, root: Path, path: Path) -> int:
    """Add a file or a link. Returns its size in bytes."""
    entry = tarfile.TarInfo(path.relative_to(root).as_posix())
    if path.is_symlink():
        entry.type = tarfile.SYMTYPE
        entry.linkname = _target(root, path)
        tar.addfile(entry)
        return 0
    content = path.read_bytes()
    entry.size = len(content)
    entry.mode = 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644
    tar.addfile(entry, io.BytesIO(content))
    return entry.size


def _target(root: Path, link: Path) -> str:
    """Return where a link leads in the end, as a relative path that leads through no folder around the project.

    The project's folder has another name on a device. Raises `UsageError` if the link leads out of it.
    """
    place = Path(os.path.realpath(link))  # unlike `resolve`, it accepts links in a circle
    if not place.is_relative_to(root):
        raise UsageError(
            f"the link {link.relative_to(root)} leads out of the project, to {place}, which a device does not have. "
            f"Replace it with its target, or {_keep_out(root, 'list it in .gitignore, without a slash at its end')}."
        )
    return os.path.relpath(place, link.parent)


def _keep_out(root: Path, by_git: str) -> str:
    """Return how the user keeps a file of the project from being sent: in these words where there is git."""
    return by_git if repository(root) else "name what is to be sent: --ngraph-send=PATTERN"
