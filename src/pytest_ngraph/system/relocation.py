"""Translate paths from a folder to its copy elsewhere: from the working tree to the worktree of the base."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, takewhile
from pathlib import Path
from types import ModuleType

from pytest_ngraph.case import Case
from pytest_ngraph.system.installed import PACKAGE_FOLDER


def moved(text: str, source: Path, target: Path) -> str:
    """Return an absolute path below `source` as the same path below `target`, any other text unchanged.

    Links below `source` stay as they are: the copy has its own, which may lead elsewhere.

    Args:
        text: a path; what follows `::` in it is kept.
        source: a folder, with its links resolved.
        target: the copy of that folder.
    """
    path, colons, rest = text.partition("::")
    if not os.path.isabs(path):  # noqa: PTH117 (a text)
        return text
    below = _below(Path(path), source)
    return text if below is None else f"{target / below}{colons}{rest}"


def _below(path: Path, source: Path) -> Path | None:
    """Return a path relative to `source`, following links only until there; None if it does not lead there."""
    for outer in (*reversed(path.parents), path):
        inner, place = path.relative_to(outer), Path(os.path.realpath(outer))
        leads_out = Path(os.path.normpath(inner)).parts[:1] == ("..",)
        if place.is_relative_to(source) and not leads_out:
            return place.relative_to(source) / inner
    return None


def with_paths(case: Case, move: Callable[[str], str]) -> Case:
    """Return the case with `move` applied to its texts that may be paths, or several, separated as in `PATH`."""

    def moved_all(text: str) -> str:
        return move(text) if "::" in text else os.pathsep.join(map(move, text.split(os.pathsep)))

    model_args = tuple((name, moved_all(value) if isinstance(value, str) else value) for name, value in case.model_args)
    return dataclasses.replace(case, workload=move(case.workload), model_args=model_args)


INSTALLED = {"site-packages", "dist-packages"}
IN_ENVIRONMENT = re.compile(rf".*[\\/](?:{'|'.join(sorted(INSTALLED))})[\\/](.+)", re.DOTALL)
"""The path of a file in an environment; its group is the path from there."""
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")


STANDARD_LIBRARY = "<standard library>"
"""Stands in a search path for the standard library of the interpreter that it is sent to."""


def import_path(sys_path: Iterable[str], root: Path, worktree: Path, inner: Iterable[Path] = ()) -> list[str]:
    """Return `sys.path` with the entries of the working tree at `root` moved to the worktree.

    They come before what is installed, and with them the worktree's folders in which a project that is installed in
    another way has its packages. So they take precedence over the finder of an editable install, and over an installed
    copy. They shadow the standard library where they do so in this process, and not elsewhere.

    Args:
        inner: as in `project_path`.
    """
    entries = list(map(_real, sys_path))
    before, after = _around_standard_library(entries, root, inner)
    others = [entry for entry in entries if entry not in (*before, *after)]
    standard = [entry for entry in others if entry in _standard_library()]
    first, then = ([worktree / entry.relative_to(root) for entry in ours] for ours in (before, after))
    return list(dict.fromkeys(map(str, (*first, *standard, *then, *others))))


def sent_path(sys_path: Iterable[str], root: Path, inner: Iterable[Path] = ()) -> list[str]:
    """Return where another interpreter looks for the modules of the project at `root`; it is `completed` there.

    Args:
        inner: as in `project_path`.
    """
    before, after = _around_standard_library(map(_real, sys_path), root, inner)
    return list(dict.fromkeys((*map(str, before), STANDARD_LIBRARY, *map(str, after))))


def behind_standard_library(folder: Path, path: Sequence[str]) -> list[str]:
    """Return a search path with one more folder, whose modules come before what is installed, and not before Python's.

    Args:
        path: such as `sys.path`.
    """
    standard = [place for place, entry in enumerate(path, start=1) if _is_standard(entry)]
    place = max(standard, default=0)
    return [*path[:place], str(folder), *path[place:]]


def marked(path: Iterable[str]) -> list[str]:
    """Return a search path with `STANDARD_LIBRARY` in place of this interpreter's own."""
    return list(dict.fromkeys(STANDARD_LIBRARY if _is_standard(entry) else entry for entry in path))


def completed(path: Sequence[str], own: Sequence[str]) -> list[str]:
    """Return a search path for this interpreter: one that was sent, and then the rest of this interpreter's own.

    Args:
        path: this interpreter's standard library comes where `STANDARD_LIBRARY` is.
        own: this interpreter's `sys.path`.
    """
    standard = [entry for entry in own if _is_standard(entry)]
    parts = [standard if entry == STANDARD_LIBRARY else [entry] for entry in path]
    return list(dict.fromkeys((*chain.from_iterable(parts), *own)))


def project_path(sys_path: Iterable[str], root: Path, inner: Iterable[Path] = ()) -> list[Path]:
    """Return where to look for the modules of the project at `root`.

    First come the folders of the project from which this process imports, then those from which a package may have been
    installed: `src` and the top folder, and in a repository of several projects the same of each.

    Args:
        inner: folders in the project at hand, such as pytest's root folder and the current one.
    """
    before, after = _around_standard_library(map(_real, sys_path), root, inner)
    return [*before, *after]


def _around_standard_library(
    entries: Iterable[Path], root: Path, inner: Iterable[Path]
) -> tuple[list[Path], list[Path]]:
    """Return `project_path` as what this process looks at before the standard library, and what comes after it."""
    before = list(takewhile(lambda entry: entry not in _standard_library(), remaining := iter(entries)))
    after = (*remaining, *_editable_folders(sys.modules), *_package_folders(root, inner))

    def ours(candidates: Iterable[Path]) -> list[Path]:
        return [entry for entry in candidates if is_of_project(entry, root) and entry != PACKAGE_FOLDER.parent]

    return ours(before), ours(after)


def _is_standard(entry: str) -> bool:
    return _real(entry) in _standard_library()


@cache
def _standard_library() -> frozenset[Path]:
    """Return the entries of this interpreter's `sys.path` that are its standard library."""
    folders = {_real(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")}
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return frozenset(place for each in folders for place in (each, each / "lib-dynload", each.with_name(archive)))


def _package_folders(root: Path, inner: Iterable[Path]) -> Iterator[Path]:
    """Yield `src` of each folder from `inner` up to `root`, and the folder itself where it is a project's top.

    Other folders are left out: a user's `random.py` beside the tests would shadow the standard library's.
    """
    around = {folder for each in map(_real, inner) for folder in (each, *each.parents) if folder.is_relative_to(root)}
    for folder in sorted(around | {root}, key=lambda folder: (-len(folder.parts), folder)):
        yield folder / "src"
        if folder == root or any((folder / file).is_file() for file in PROJECT_FILES):
            yield folder


def _editable_folders(modules: Mapping[str, ModuleType]) -> Iterator[Path]:
    """Yield the folders of packages that setuptools installed as editable by a finder: they are not in `sys.path`."""
    for name, module in list(modules.items()):
        mapping = getattr(module, "MAPPING", None)
        if name.startswith("__editable__") and isinstance(mapping, dict):
            yield from (_real(place).parent for place in mapping.values())


def is_of_project(place: Path, root: Path) -> bool:
    """Return whether a folder or file belongs to the project at `root`, not to an environment inside it."""
    if not place.is_relative_to(root):
        return False
    below = place.relative_to(root)
    if INSTALLED & set(below.parts) or place.is_relative_to(_real(sysconfig.get_path("stdlib"))):
        return False
    return not any((root / folder / "pyvenv.cfg").is_file() for folder in below.parents if folder != Path())


def is_code_outside(file: str, root: Path) -> bool:
    """Return whether a file is Python code or a shared object that lies outside of the project at `root`."""
    return file.endswith((".py", ".so")) and not Path(file).is_relative_to(root)


def _real(entry: str | Path) -> Path:
    """Return an entry of `sys.path` with its links resolved; the empty entry is the current folder."""
    return Path(os.path.realpath(entry))
