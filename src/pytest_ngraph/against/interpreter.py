"""A base in another Python environment: the same code with other versions of libraries."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from pytest_ngraph.against.origin import Found
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.child import WITHOUT_FOLDER, search_path
from pytest_ngraph.system.installed import OWN, library_versions
from pytest_ngraph.system.interpreter import ask, no_interpreter
from pytest_ngraph.system.relocation import sent_path
from pytest_ngraph.wording import changes

OPTION = "--ngraph-against-python"
QUERY = f"""
{WITHOUT_FOLDER}
import json
import sysconfig
import pytest_ngraph.worker.worker
from pytest_ngraph.system.installed import library_versions
print(json.dumps([sysconfig.get_path("purelib"), library_versions()]))
"""


class FromInterpreter:
    """Another Python interpreter as the base."""

    has_own_libraries = True

    def __init__(self, python: str, rootdir: Path) -> None:
        """Ask the interpreter for its libraries.

        Args:
            python: path of the interpreter, from the current folder or on PATH.
            rootdir: pytest's root folder; the base imports the same modules from there as this process does.

        Raises:
            UsageError: the interpreter cannot be compared with.
        """
        self._python = python
        self._path = Path.cwd() / (shutil.which(python) or python)  # its workers start in other folders
        self._rootdir = rootdir
        self._libraries: dict[str, str] = _libraries(python)

    @property
    def name(self) -> str:
        return self._python

    @property
    def identity(self) -> str:
        return " ".join([self._python, *(f"{name}={version}" for name, version in sorted(self._libraries.items()))])

    @property
    def description(self) -> str:
        differing = ", ".join(sorted(changes(self._libraries, library_versions())))
        return f"base: {self._python}, head: {sys.executable} ({differing or 'the same libraries'})"

    def open(self, heads: Sequence[tuple[str, Case]]) -> Found:
        ours = sent_path(search_path(), self._rootdir.resolve())
        return Found(
            bases={case: case for _, case in heads}, home=Home(python=str(self._path), path=ours), measures_equals=True
        )

    def close(self) -> None:
        """Do nothing: `open` makes nothing."""


def _libraries(python: str) -> dict[str, str]:
    """Return the libraries of an interpreter, with their versions.

    Raises:
        UsageError: it cannot be run, is of this environment, or has no pytest-ngraph of this version.
    """
    answer = ask(python, QUERY, OPTION)
    if answer.data is None:
        raise UsageError(
            f"{OPTION}={python} has no {OWN} of this version ({answer.said}). Install it there: "
            f"{python} -m pip install {OWN}"
        )
    here = library_versions()
    try:
        packages, versions = answer.data
    except (TypeError, ValueError):
        raise no_interpreter(OPTION, python, answer.said) from None
    if versions == here and os.path.realpath(packages) == os.path.realpath(sysconfig.get_path("purelib")):
        raise UsageError(
            f"{OPTION}={python} belongs to the environment that runs pytest: nothing would differ. Give "
            f"the interpreter of another environment, or compare every case with itself: --ngraph-calibrate."
        )
    theirs, own = versions.get(OWN), here.get(OWN)
    if theirs != own:
        raise UsageError(
            f"{OPTION}={python} has {OWN} {theirs}, but this environment has {own}: the difference "
            f"between them would be measured as well. Install the same there: {python} -m pip install {OWN}=={own}"
        )
    return dict(versions)
