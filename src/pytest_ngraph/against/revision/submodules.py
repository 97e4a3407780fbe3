"""Submodules of a worktree, from the working tree's own clones: git leaves them out, and asking their hosts is slow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_ngraph.system.git import GitFailed, answers, git

COMMIT_MODE = "160000"


def check_out_submodules(source: Path, target: Path) -> Iterator[str]:
    """Check out in `target` what its commit says of submodules, theirs included. Yields, in words, those for which
    `source` has not the commit."""
    for path, commit in _submodules(target):
        clone = source / path
        has_clone = (clone / ".git").exists() and answers(clone, "cat-file", "-e", f"{commit}^{{commit}}") is not None
        if not has_clone:
            yield f"submodule {path} is empty: {commit[:7]} is not in its clone. git submodule update --init {path}"
            continue
        try:
            git(target, "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(target / path))
            git(target / path, "checkout", "--quiet", "--detach", commit)
        except GitFailed as error:
            yield f"submodule {path} is empty. {error}"
            continue
        yield from check_out_submodules(clone, target / path)


def _submodules(root: Path) -> Iterator[tuple[str, str]]:
    """Path and commit of each submodule of what is checked out at `root`."""
    if not (root / ".gitmodules").is_file():
        return
    for entry in git(root, "ls-tree", "-r", "-z", "HEAD").split("\0"):
        description, _, path = entry.partition("\t")
        if description.startswith(COMMIT_MODE):
            yield path, description.split()[2]
