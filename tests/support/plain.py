"""Workloads that need no framework and so take no time: the family `plain` of `tests/support/faulty.py`."""

from __future__ import annotations

import shutil
from pathlib import Path

SUPPORT = Path(__file__).parent
WITHOUT_PLUGINS = "-p no:hypothesispytest -p no:anyio"
"""Options of runs that tests make: they do not use these plugins, whose import takes a tenth of a small run."""
ENTRY_POINTS = "[pytest_ngraph.workloads]\nplain = faulty:Plain\n"


def put_into(project: Path) -> None:
    """Copy the family `plain` and the compilers of these files into a project, registered as if installed.

    Runs of pytest in that folder find them if each run is a separate process.
    """
    for name in ("mine.py", "faulty.py", "lacking.py", "stuttering.py"):
        shutil.copy(SUPPORT / name, project)
    information = project / "faulty-1.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
