"""Workloads that need no framework and so take no time: the family `plain` of `users/faulty.py`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph import compilers, workloads
from pytest_ngraph.system import entry_points

USERS = Path(__file__).parent / "users"
"""What users might write: workloads and compilers, good ones and faulty ones."""
WITHOUT_PLUGINS = "-p no:hypothesispytest -p no:anyio -p no:hydra_pytest -p no:kgb"
"""Options of runs that tests make: these plugins, which they do not use, take up to half of a small run."""
REMEMBERED: tuple[Any, ...] = (
    *(entry_points._everything, entry_points.registered, entry_points.load),
    *(workloads.family, compilers.resolve, compilers.missing_library),
)
"""Caches of what is registered where this process imports from."""
ENTRY_POINTS = "[pytest_ngraph.workloads]\nplain = faulty:Plain\n"


def put_into(project: Path) -> None:
    """Copy the family `plain` and the compilers of these files into a project, registered as if installed.

    Runs of pytest in that folder find them if each is a process of its own, and in `importable`.
    """
    for name in ("mine.py", "faulty.py", "beside.py", "lacking.py", "stuttering.py"):
        shutil.copy(USERS / name, project)
    information = project / "faulty-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)


@contextmanager
def importable(project: Path) -> Iterator[None]:
    """Have this process import from a project, and find what is registered there.

    Its modules replace those of the same names that other tests have imported.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(project)
        for file in project.glob("*.py"):
            patch.delitem(sys.modules, file.stem, raising=False)
        for cached in REMEMBERED:
            cached.cache_clear()
        yield
    for cached in REMEMBERED:
        cached.cache_clear()
