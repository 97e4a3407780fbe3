"""The files of a project: those that git tracks or would track; without git, all but by-products."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import answers

BY_PRODUCTS = ("__pycache__", "node_modules")


def top(folder: Path) -> Path:
    """Return the top folder of a project: that of git's working tree, else the folder itself."""
    try:
        found = answers(folder, "rev-parse", "--show-toplevel")
    except UsageError:  # no git
        found = None
    return Path(found) if found else folder


def project_files(root: Path) -> set[Path]:
    """Return the files and links below `root`, without by-products that git does not track.

    With git these are the tracked files, and those that are neither tracked nor ignored; without git, all.
    """
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
    """Return the paths that git lists, relative to `root`; none outside of a working tree."""
    try:
        listed = answers(root, "ls-files", "-z", *which)
    except UsageError:  # no git
        return []
    return [name for name in (listed or "").split("\0") if name]


def _present(root: Path, names: list[str]) -> Iterator[Path]:
    """Yield those that exist. A folder that git lists is another repository, such as a submodule: yield its files."""
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
    """Return whether a folder is hidden, a virtual environment or a cache (Python's, or as in bford.info/cachedir)."""
    return (
        folder.name.startswith(".")
        or folder.name in BY_PRODUCTS
        or (folder / "CACHEDIR.TAG").exists()
        or (folder / "pyvenv.cfg").exists()
    )
