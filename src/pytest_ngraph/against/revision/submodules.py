"""Submodules of a worktree, copied from the working tree's own clones.

`git worktree add` leaves them out, and fetching them from their hosts is slow.
"""

from __future__ import annotations

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


def check_out_submodules(source: Path, target: Path) -> Iterator[str]:
    """Check out the submodules of `target`'s commit, and their submodules.

    Yields a sentence on each submodule that cannot be checked out, such as one whose commit `source` lacks.
    """
    for path, commit in _submodules(target):
        clone = source / path
        has_clone = (clone / ".git").exists() and answers(clone, "cat-file", "-e", f"{commit}^{{commit}}") is not None
        if not has_clone:
            yield (
                f"submodule {path} is empty at the base: {commit[:7]} is not in its clone. "
                f"Get it: git submodule update --init {path}"
            )
            continue
        try:
            git(target, "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(target / path))
            git(target / path, "checkout", "--quiet", "--detach", commit)
        except GitFailed as error:
            yield f"submodule {path} is empty at the base. {error}"
            continue
        yield from check_out_submodules(clone, target / path)


def _submodules(root: Path) -> Iterator[tuple[str, str]]:
    """Yield path and commit of each submodule of the commit that is checked out at `root`."""
    if not (root / ".gitmodules").is_file():
        return
    for entry in git(root, "ls-tree", "-r", "-z", "HEAD").split("\0"):
        description, _, path = entry.partition("\t")
        if description.startswith(COMMIT_MODE):
            yield path, description.split()[2]
