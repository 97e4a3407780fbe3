"""Which files make up a project: what git tracks and what it would, else all but by-products."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import answers

BY_PRODUCTS = ("__pycache__", "node_modules")


def top(folder: Path) -> Path:
    """The folder that a project begins at: the top of git's working tree, else the folder itself."""
    try:
        found = answers(folder, "rev-parse", "--show-toplevel")
    except UsageError:  # no git
        found = None
    return Path(found) if found else folder


def project_files(root: Path) -> set[Path]:
    """The files and links below `root`: those tracked by git, and those neither tracked nor ignored that are no
    by-products; without git, all that are none."""
    tracked = _listed(root, "--cached")
    untracked = _listed(root, "--others", "--exclude-standard")
    if not tracked and not untracked:
        return set(_walked(root))

    @cache
    def is_in_by_product(folder: Path) -> bool:
        return folder != root and (_is_by_product(folder) or is_in_by_product(folder.parent))

    new = (path for path in _present(root, untracked) if not is_in_by_product(path.parent))
    return {*_present(root, tracked), *new}


def _listed(root: Path, *which: str) -> list[str]:
    """Paths that git lists, relative to `root`; none outside of a working tree."""
    try:
        listed = answers(root, "ls-files", "-z", *which)
    except UsageError:  # no git
        return []
    return [name for name in (listed or "").split("\0") if name]


def _present(root: Path, names: list[str]) -> Iterator[Path]:
    """Those that are there. A folder that git lists is a repository of its own: a submodule, or one that lies about."""
    for name in names:
        path = root / name
        if path.is_symlink() or path.is_file():
            yield path
        elif (path / ".git").exists():
            yield from project_files(path)


def _walked(root: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(root):
        folder = Path(name)
        links = [folder / each for each in folders if (folder / each).is_symlink()]
        folders[:] = [each for each in folders if not _is_by_product(folder / each)]
        yield from (
            path for path in (*links, *(folder / each for each in files)) if path.is_symlink() or path.is_file()
        )


def _is_by_product(folder: Path) -> bool:
    """Whether a folder is hidden, a cache (of Python's, or marked by bford.info/cachedir), or a virtual environment."""
    return (
        folder.name.startswith(".")
        or folder.name in BY_PRODUCTS
        or (folder / "CACHEDIR.TAG").exists()
        or (folder / "pyvenv.cfg").exists()
    )
