"""Files that git does not track, such as weights, which the code of every revision reads."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Sequence
from glob import glob
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import GitFailed, git
from pytest_ngraph.wording import listed

LIBRARY = re.compile(r"\.(so|pyd|dylib)(\.|$)")
SOURCES = [f"*.{suffix}" for suffix in ("c", "cc", "cpp", "cxx", "cu", "cuh", "h", "hpp", "pyx", "pxd", "rs", "f90")]
"""What shared libraries are built from, as git's pathspecs."""
FICLONE = 0x40049409
"""Has a file share the blocks of another one until either is written to: ioctl_ficlone(2)."""


def bring_untracked(patterns: Sequence[str], source: Path, target: Path) -> None:
    """Give a worktree the files of another that match and that git does not track. What it has stays as it is.

    Each is a copy, because the revision's code may write to it. Weights are large: it shares their blocks where it can.
    A link that leads out of the working tree stays a link, so that both sides read the same file. A repository within
    comes whole, without its `.git`.

    Args:
        patterns: git's pathspecs, relative to `source`: `weights`, `asr/*.pt`.
        source: the top folder of the working tree.
        target: the top folder of the worktree.

    Raises:
        UsageError: as `untracked_files` does, or a file cannot be brought.
    """
    names = untracked_files(patterns, source)
    for name in sorted(names, key=lambda name: (source / name).is_symlink()):  # links last: they may lead to the others
        if not os.path.lexists(target / name):
            try:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                _bring(source / name, target / name, source, target)
            except OSError as error:
                raise UsageError(f"--ngraph-untracked: {name} cannot be brought to the base: {error}") from None


def untracked_files(patterns: Sequence[str], root: Path) -> list[str]:
    """Return the files that match and that git does not track, relative to `root`.

    Among them are links to folders, and the folders of repositories within, into which git does not look.

    Raises:
        UsageError: a pattern matches no file at all, or leads out of the repository.
    """
    return [name for pattern in patterns for name in _matching(pattern, root)]


def libraries_of_head(patterns: Sequence[str], root: Path, base: str) -> str:
    """Return a note on shared libraries that both sides have of the working tree, while sources differ; else nothing.

    Args:
        patterns: as in `bring_untracked`.
        root: the top folder of the working tree.
        base: the commit of the base.
    """
    libraries = sorted({name for name in untracked_files(patterns, root) if LIBRARY.search(name)})
    differ = git(root, "diff", "--name-only", base, "--", *SOURCES).splitlines() if libraries else []
    if not differ:
        return ""
    return (
        f"Base and head both used {listed(libraries, 2)} of the working tree, which git does not track: changes of "
        f"{listed(differ, 2)} were not compared where a library is built from them."
    )


def _matching(pattern: str, root: Path) -> list[str]:
    try:
        untracked = _listed(root, pattern) or _around(pattern, root)
        if not untracked and not git(root, "ls-files", "--", pattern):
            raise UsageError(
                f"--ngraph-untracked={pattern} matches no file in {root}. Give a file, a folder or a pattern, relative "
                "to that folder: weights, asr/*.pt."
            )
    except GitFailed as error:
        raise UsageError(f"--ngraph-untracked={pattern} cannot be looked for. {error}") from None
    return untracked


def _listed(root: Path, pattern: str) -> list[str]:
    """Return the files, links and repositories within that match and that git does not track."""
    names = git(root, "ls-files", "--others", "-z", "--", pattern).split("\0")
    return [name.rstrip("/") for name in names if name]


def _around(pattern: str, root: Path) -> list[str]:
    """Return the link or repository within that the files of a pattern are behind. Git does not look there."""
    if Path(pattern).is_absolute() or not glob(pattern, root_dir=root):  # noqa: PTH207 (takes any text)
        return []
    outer = (str(each) for each in (Path(pattern), *Path(pattern).parents) if each != Path())
    return next(([each] for each in outer if each in _listed(root, each)), [])


def _bring(file: Path, copy: Path, source: Path, target: Path) -> None:
    """Copy a file or folder from below `source` to below `target`, or make a link there."""
    place, top = Path(os.path.realpath(file)), Path(os.path.realpath(source))
    is_link = file.is_symlink()
    if is_link and not place.is_relative_to(top):
        copy.symlink_to(place)
    elif is_link and not place.exists():
        copy.symlink_to(file.readlink())
    elif is_link and os.path.lexists(own := target / place.relative_to(top)):
        copy.symlink_to(own)
    elif place.is_dir():
        shutil.copytree(place, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"), copy_function=_copy)
    else:
        _copy(place, copy)


def _copy(file: str | Path, copy: str | Path) -> None:
    try:
        with Path(file).open("rb") as source, Path(copy).open("xb") as target:
            fcntl.ioctl(target, FICLONE, source.fileno())
    except OSError:  # another file system, or one whose files cannot share blocks
        shutil.copyfile(file, copy)
    shutil.copystat(file, copy)
