"""Submodules of a worktree, copied from the working tree's own clones.

`git worktree add` leaves them out, and fetching them from their hosts is slow.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from pytest_ngraph.system.git import GitFailed, answers, git

COMMIT_MODE = "160000"


def is_of_repository(folder: Path, root: Path) -> bool:
    """Return whether a folder below the top of a repository is of it or of a submodule, not of another within."""
    top = answers(folder, "rev-parse", "--show-toplevel")
    while top and Path(top).resolve() != root:
        top = answers(Path(top), "rev-parse", "--show-superproject-working-tree")
    return bool(top)


def missing_submodules(source: Path, commit: str) -> Iterator[str]:
    """Yield the path of each submodule of a commit, and of their submodules, that `source` has no clone with."""
    for path, own in _submodules(source, commit):
        if _has(source / path, own):
            yield from (f"{path}/{inner}" for inner in missing_submodules(source / path, own))
        else:
            yield path


def check_out_submodules(source: Path, target: Path, commit: str) -> Iterator[str]:
    """Check out the submodules of a commit at `target`, and their submodules.

    Yields a sentence on each submodule that cannot be checked out, such as one whose commit `source` lacks.
    """
    for path, own in _submodules(source, commit):
        clone = source / path
        if not _has(clone, own):
            # Where there is a clone, `git submodule update` would get the commit that the head records.
            fetch = f"git -C {shlex.quote(str(clone))} fetch origin {own}"
            advice = fetch if (clone / ".git").exists() else f"git submodule update --init {path}"
            yield f"submodule {path} is empty at the base: {own[:7]} is not in its clone. Get it: {advice}"
            continue
        try:
            git(target, "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(target / path))
            if answers(clone, "rev-parse", "--is-shallow-repository") == "true":
                _share_shallow(clone, target / path)
            git(target / path, "checkout", "--quiet", "--detach", own)
        except GitFailed as error:
            yield f"submodule {path} is empty at the base. {error}"
            continue
        yield from check_out_submodules(clone, target / path, own)


def _share_shallow(source: Path, target: Path) -> None:
    """Share all objects of a shallow clone: `--shared` does not, and copies only what its branches lead to.

    A bisection's worktree then has each commit of the submodule that the working tree has (gitrepository-layout).
    """
    objects, shallow = (source / git(source, "rev-parse", "--git-path", name) for name in ("objects", "shallow"))
    (target / ".git" / "objects" / "info" / "alternates").write_text(f"{objects.resolve()}\n")
    shutil.copyfile(shallow, target / ".git" / "shallow")


def _has(clone: Path, commit: str) -> bool:
    """Return whether a folder is a clone that has a commit."""
    return (clone / ".git").exists() and answers(clone, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def _submodules(root: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Yield path and commit of each submodule of a commit."""
    if answers(root, "cat-file", "-e", f"{commit}:.gitmodules") is None:
        return
    for entry in git(root, "ls-tree", "-r", "-z", commit).split("\0"):
        description, _, path = entry.partition("\t")
        if description.startswith(COMMIT_MODE):
            yield path, description.split()[2]
