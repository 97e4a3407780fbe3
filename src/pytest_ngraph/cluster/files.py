"""The files of a project: those that git tracks or would track; without git, all but by-products."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.git import GitFailed, git, unusable

BY_PRODUCTS = ("__pycache__", "node_modules")
MARKS = ("CACHEDIR.TAG", "pyvenv.cfg")
"""Files by which a cache and a virtual environment are known."""


def top(folder: Path) -> Path:
    """Return the top folder of a project: that of git's working tree, else the folder itself.

    Raises:
        UsageError: there is a repository, and git cannot read it.
    """
    found = _git(folder, "rev-parse", "--show-toplevel")
    return Path(found) if found else folder


def project_files(root: Path) -> set[Path]:
    """Return the files and links below `root`, without by-products that git does not track.

    With git these are the tracked files, and those that are neither tracked nor ignored; without git, all.

    Raises:
        UsageError: there is a repository, and git cannot read it, so that nobody knows what it ignores.
    """
    tracked = _listed(root, "--cached")
    untracked = _listed(root, "--others", "--exclude-standard")
    if tracked is None or untracked is None:
        return set(_walked(root))

    @cache
    def is_in_by_product(folder: Path) -> bool:
        return folder != root and (_is_by_product(folder) or is_in_by_product(folder.parent))

    new = (path for path in _present(root, untracked) if not is_in_by_product(_folder_of(path)))
    return {*_present(root, tracked), *new}


def _listed(root: Path, *which: str) -> list[str] | None:
    """Return the paths that git lists, relative to `root`; None outside of a working tree."""
    listed = _git(root, "ls-files", "-z", *which)
    return None if listed is None else [name for name in listed.split("\0") if name]


def _git(folder: Path, *arguments: str) -> str | None:
    """Return git's output; None outside of a repository. Raises `UsageError` if git cannot read the one that is there.

    What `.gitignore` excludes may be secret: a failure of git must not have it sent.
    """
    try:
        return git(folder, *arguments)
    except (GitFailed, UsageError) as error:
        found = repository(folder)
        if found is None:
            return None
        if isinstance(error, GitFailed):
            raise unusable(found, error) from None
        raise UsageError(
            f"{found} is a git repository, and git is not installed, so that it is not known which files are "
            "ignored and must not be sent. Install git."
        ) from None


def repository(folder: Path) -> Path | None:
    """Return the nearest folder at or above this one that has a `.git`, as far up as git looks; None without one."""
    ceilings = os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep)
    device = folder.stat().st_dev
    for place in (folder, *folder.parents):
        if place != folder and (str(place) in ceilings or place.stat().st_dev != device):
            return None
        if os.path.lexists(place / ".git"):
            return place
    return None


def _present(root: Path, names: list[str]) -> Iterator[Path]:
    """Yield those that exist. A folder that git lists is another repository, such as a submodule: yield its files."""
    for name in names:
        path = root / name
        if path.is_symlink() or path.is_file():
            yield path
        elif (path / ".git").exists():
            yield from project_files(path)


def _folder_of(path: Path) -> Path:
    """Return the folder that a file is in, or to which a link leads."""
    return path if path.is_dir() else path.parent


def _walked(root: Path) -> Iterator[Path]:
    for name, folders, files in os.walk(root):
        folder = Path(name)
        folders[:] = [each for each in folders if _may_enter(folder / each) and not _is_by_product(folder / each)]
        links = [folder / each for each in folders if (folder / each).is_symlink()]
        yield from (
            path for path in (*links, *(folder / each for each in files)) if path.is_symlink() or path.is_file()
        )


def _may_enter(folder: Path) -> bool:
    """Return whether this user may use a folder's files. Those of the others stay, as git leaves them out."""
    return os.access(folder, os.R_OK | os.X_OK)


def _is_by_product(folder: Path) -> bool:
    """Return whether a folder is hidden, a virtual environment or a cache (Python's, or as in bford.info/cachedir).

    So is a link to one: git takes the line `venv/` of a `.gitignore` for a folder, not for a link.
    """
    return (
        folder.name.startswith(".")
        or folder.name in BY_PRODUCTS
        or any(os.access(folder / mark, os.F_OK) for mark in MARKS)
    )
