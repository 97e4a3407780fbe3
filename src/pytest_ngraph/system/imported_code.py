"""Refuse what a process took from elsewhere than it was to: code and files of the head for the base, or the code of an
installed copy or of another checkout for the head."""

from __future__ import annotations

import filecmp
import importlib.metadata
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.files import resolved_code
from pytest_ngraph.system.installed import PACKAGE_FOLDER
from pytest_ngraph.system.relocation import IN_ENVIRONMENT, is_of_project, project_path


def refuse_head(instead_of: Sequence[str | Path], modules: Mapping[str, ModuleType]) -> None:
    """Raise `UsageError` if the head's code was imported for the base: the head would be compared with itself.

    Args:
        instead_of: the copy of another revision, which is the base, and the working tree, which is the head.
        modules: what the process has imported (`sys.modules`).
    """
    worktree, root = map(Path, instead_of)
    found = sorted(foreign_modules(root, worktree, modules).items())
    if found:
        (name, file), more = found[0], len(found) - 1
        others = f" and {more} more" if more else ""
        raise UsageError(
            f"the base was built with code of the head: {name}{others} came from {file}, so that the head would "
            f"be compared with itself. Import it through sys.path (python -m pytest, or the ini key pythonpath), "
            f"not by a path in the working tree or an editable install with a finder of its own."
        )
    own = [root / folder.relative_to(worktree) for folder in project_path(sys.path, worktree)]
    _refuse_copies(root, worktree, own, modules)


def refuse_files(instead_of: Sequence[str | Path], read: Iterable[str]) -> None:
    """Raise `UsageError` if a file of the head was read for the base, which has another one there.

    What only the working tree has, such as weights that git does not track, is the same for both.

    Args:
        instead_of: as in `refuse_head`.
        read: the files that the process has read, with links resolved.
    """
    worktree, root = map(Path, instead_of)
    for file in map(Path, read):
        if file.is_relative_to(worktree) or not is_of_project(file, root):
            continue
        own = worktree / (name := file.relative_to(root))
        if own.is_file() and file.is_file() and not filecmp.cmp(own, file, shallow=False):
            raise UsageError(
                f"the base was built with a file of the head: {name} was read at {file}, so that the head would be "
                "compared with itself. Find it from the code that reads it (Path(__file__)) or from the current "
                "folder, or by an environment variable that holds nothing but paths."
            )


def refuse_outdated(folders: Iterable[Path], modules: Mapping[str, ModuleType]) -> None:
    """Raise `UsageError` if a module came from an installed copy or another checkout that is not as the working tree.

    Data count that lie in its package at both places: nobody knows which of them it has read.

    Args:
        folders: where the working tree has its packages, its top folder among them.
        modules: what the process has imported (`sys.modules`).
    """
    if not (in_tree := _names_in(folders)):
        return
    packages: dict[Path, Path] = {}
    for name, file, below in chain(_installed(modules), _elsewhere(in_tree, modules)):
        for own in _in_tree(below, in_tree):
            if own.read_bytes() != Path(file).read_bytes():
                raise _outdated(name, file, own)
            if file.endswith(below) and os.sep in below:
                top = below.count(os.sep) - 1
                packages[own.parents[top]] = Path(file).parents[top]
    for package, copy in packages.items():
        for own in _data(package):
            other = copy / own.relative_to(package)
            if other.is_file() and not filecmp.cmp(own, other, shallow=False):
                raise _outdated(package.name, str(copy), own)


def _outdated(name: str, copy: str, own: Path) -> UsageError:
    what = "an installed copy" if IN_ENVIRONMENT.fullmatch(copy) else "another checkout"
    return UsageError(
        f"{name} was imported from {copy}, {what} that differs from {own}: it would be measured instead of the working "
        "tree. Install the working tree as editable (pip install -e .), or let pytest find it (the ini key pythonpath)"
    )


def _data(package: Path) -> Iterator[Path]:
    """Yield the files of a package that no import reads, but its code may. In `__pycache__`, there are only caches."""
    for folder, folders, names in os.walk(package):
        folders[:] = [each for each in folders if each != "__pycache__"]
        files = (Path(folder, name) for name in names)
        yield from (file for file in files if file.suffix not in (".py", ".pyi", ".pyc") and file.is_file())


def foreign_modules(root: Path, worktree: Path, modules: Mapping[str, ModuleType]) -> dict[str, Path]:
    """Return modules that a process imported from the working tree instead of the worktree, with their files."""
    files = {
        name: resolved_code(file)
        for name, module in list(modules.items())
        if isinstance(file := getattr(module, "__file__", None), str)
    }
    below_root = {name: Path(file) for name, file in files.items() if file.startswith(str(root))}
    return {
        name: file
        for name, file in below_root.items()
        if is_of_project(file, root)
        and not file.is_relative_to(worktree)
        and not file.is_relative_to(PACKAGE_FOLDER)  # the base is measured with the head's pytest-ngraph
    }


def _refuse_copies(root: Path, worktree: Path, folders: Collection[Path], modules: Mapping[str, ModuleType]) -> None:
    """Raise `UsageError` if a module came from a package that was installed from `root`, or from another checkout.

    Args:
        root, worktree: the working tree, and the copy of another revision.
        folders: where the working tree has its packages. An index or an image does not say what a copy was made of.
    """
    copies, in_tree = _copies(root), _names_in(folders)
    for name, file, below in _installed(modules):
        if (package := name.partition(".")[0]) in copies or any(_in_tree(below, in_tree)):
            raise UsageError(
                f"the base was built with code of the head: {package} came from {file}, an installed copy, "
                "so that the head would be compared with itself. Install it as editable (pip install -e .)"
            )
    for name, file, below in _elsewhere({*in_tree, root, worktree}, modules):
        if any(own.stat().st_size for own in _in_tree(below, in_tree)):  # every package may have an empty __init__.py
            raise UsageError(
                f"the base was built with other code than its own: {name} came from {file}, another checkout, so that "
                "the head would be compared with itself. Let pytest find it (the ini key pythonpath), not by its path"
            )


@cache
def _copies(root: Path) -> frozenset[str]:
    """Return the top-level modules that were installed from `root`. A process looks once."""
    copied = (each for each in importlib.metadata.distributions() if _is_from(each, root))
    return frozenset(
        str(file).partition("/")[0].removesuffix(".py") for distribution in copied for file in distribution.files or ()
    )


def _installed(modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str, str]]:
    """Yield modules that were imported from an environment, with their Python files, whole and from there."""
    for name, module in list(modules.items()):
        file = str(getattr(module, "__file__", None) or "")
        place = IN_ENVIRONMENT.fullmatch(file) if file.endswith(".py") else None
        if place and name.partition(".")[0] != PACKAGE_FOLDER.name:
            yield name, file, place[1]


def _elsewhere(folders: Collection[Path], modules: Mapping[str, ModuleType]) -> Iterator[tuple[str, str, str]]:
    """Yield modules that were imported from neither these folders nor an environment, as `_installed` does.

    Their name says where the working tree has them. The standard library, and the script that was started, share names
    with files of projects.
    """
    others = {PACKAGE_FOLDER.name, "__main__", *sys.stdlib_module_names}
    for name, module in list(modules.items()):
        file = str(getattr(module, "__file__", None) or "")
        if not file.endswith(".py") or name.partition(".")[0] in others or IN_ENVIRONMENT.fullmatch(file):
            continue
        if not any(Path(resolved_code(file)).is_relative_to(folder) for folder in folders):
            place = Path(*name.split("."))
            yield name, file, str(place / "__init__.py") if file.endswith("__init__.py") else f"{place}.py"


def _names_in(folders: Iterable[Path]) -> dict[Path, set[str]]:
    """Return what each of the folders has, where it exists: a process has imported thousands of other packages."""
    return {folder: {each.name for each in folder.iterdir()} for folder in folders if folder.is_dir()}


def _in_tree(below: str, folders: Mapping[Path, Collection[str]]) -> Iterator[Path]:
    """Yield the working tree's own files of a module that was imported from an environment.

    Args:
        below: the path of its file in the environment.
        folders: where the working tree has its packages, with the names that are there.
    """
    top = below.partition(os.sep)[0]
    return (own for folder, names in folders.items() if top in names and (own := folder / below).is_file())


def _is_from(distribution: importlib.metadata.Distribution, root: Path) -> bool:
    """Return whether a distribution was installed from a folder or file in `root`, and not as editable (PEP 610)."""
    try:
        recorded = json.loads(distribution.read_text("direct_url.json") or "{}")
        address, is_editable = urlsplit(recorded.get("url", "")), recorded.get("dir_info", {}).get("editable", False)
    except (ValueError, AttributeError):  # no such file as installers write
        return False
    return address.scheme == "file" and not is_editable and Path(unquote(address.path)).is_relative_to(root)
