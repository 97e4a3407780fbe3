"""Files that git does not track, such as weights, which the code of every revision reads."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import GitFailed, git


def bring_untracked(patterns: Sequence[str], source: Path, target: Path) -> None:
    """Give a worktree the files of another that match and that git does not track. What it has stays as it is.

    Each is a hard link where the file system allows, and else a copy: weights are large.

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
            _link_or_copy(source / name, file)


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


def _link_or_copy(file: Path, copy: Path) -> None:
    try:
        os.link(file.resolve(), copy)
    except OSError:  # another file system, or one without links
        shutil.copy2(file, copy)
