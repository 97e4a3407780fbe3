"""Files that git does not track, such as weights, which the code of every revision reads."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import GitFailed, git

FICLONE = 0x40049409
"""Has a file share the blocks of another one until either is written to: ioctl_ficlone(2)."""


def bring_untracked(patterns: Sequence[str], source: Path, target: Path) -> None:
    """Give a worktree the files of another that match and that git does not track. What it has stays as it is.

    Each is a copy, because the revision's code may write to it. Weights are large: it shares their blocks where it can.

    Args:
        patterns: git's pathspecs, relative to `source`: `weights`, `asr/*.pt`.
        source: the top folder of the working tree.
        target: the top folder of the worktree.

    Raises:
        UsageError: as `untracked_files` does.
    """
    for name in untracked_files(patterns, source):
        file = target / name
        if not os.path.lexists(file) and (source / name).is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            _copy(source / name, file)


def untracked_files(patterns: Sequence[str], root: Path) -> list[str]:
    """Return the files that match and that git does not track, relative to `root`.

    Raises:
        UsageError: a pattern matches no file at all, or leads out of the repository.
    """
    return [name for pattern in patterns for name in _matching(pattern, root)]


def _matching(pattern: str, root: Path) -> list[str]:
    try:
        untracked = git(root, "ls-files", "--others", "-z", "--", pattern)
        if not untracked and not git(root, "ls-files", "--", pattern):
            raise UsageError(
                f"--ngraph-untracked={pattern} matches no file in {root}. Give a file, a folder or a pattern, relative "
                "to that folder: weights, asr/*.pt."
            )
    except GitFailed as error:
        raise UsageError(f"--ngraph-untracked={pattern} cannot be looked for. {error}") from None
    return [name for name in untracked.split("\0") if name]


def _copy(file: Path, copy: Path) -> None:
    try:
        with file.open("rb") as source, copy.open("xb") as target:
            fcntl.ioctl(target, FICLONE, source.fileno())
    except OSError:  # another file system, or one whose files cannot share blocks
        shutil.copyfile(file, copy)
    shutil.copystat(file, copy)
