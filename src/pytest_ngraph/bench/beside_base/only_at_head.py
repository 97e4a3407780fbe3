"""What a base fails for because only the working tree has it: files that git does not track."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from glob import escape
from pathlib import Path

from pytest_ngraph.system.git import answers

MODULE = re.compile(r"No module named '([\w.]+)'")
MEMBER = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
MADE_OF = (".py", ".so", ".pyd", "")
"""Suffixes of what a module is made of; a folder has none."""


def with_advice(reason: str, instead_of: tuple[Path, Path] | None, path: Iterable[str]) -> str:
    """Return why a base fails, with the next step where it looks for something that only the working tree has.

    Args:
        reason: in the words of Python.
        instead_of: the base's copy of a repository, and the repository itself; None where both use the same files.
        path: the base's `sys.path`.
    """
    if instead_of is None:
        return reason
    tree, root = instead_of
    named = re.findall(rf"{re.escape(str(tree))}/([^'\"\n]+)", reason)
    modules = [*MODULE.findall(reason), *(f"{package}.{name}" for name, package in MEMBER.findall(reason))]
    for name in (*named, *_files(modules, tree, root, path)):
        if (root / name).exists() and not (tree / name).exists() and not answers(root, "ls-files", "--", name):
            is_library = name.endswith((".so", ".pyd"))
            build = ", as it is built now, so that changes of its sources are not compared" if is_library else ""
            return (
                f"{reason}. {name} is in the working tree, but not at the base: git does not track it. To give it to "
                f"the base, too{build}: --ngraph-untracked={name}"
            )
    return reason


def _files(modules: Iterable[str], tree: Path, root: Path, path: Iterable[str]) -> Iterator[str]:
    """Yield the files and folders of these modules in the working tree, relative to its top."""
    folders = [root / Path(entry).relative_to(tree) for entry in path if Path(entry).is_relative_to(tree)]
    for module in modules:
        *packages, last = module.split(".")
        for folder in (each.joinpath(*packages) for each in folders):
            for found in sorted((*folder.glob(escape(last)), *folder.glob(f"{escape(last)}.*"))):
                if found.suffix in MADE_OF:
                    yield str(found.relative_to(root))
