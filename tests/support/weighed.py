"""A repository whose cases take exactly as long as its files say."""

from __future__ import annotations

import shutil
from pathlib import Path

import plain
from fault_project import INI, TESTS
from repository import Repository


def repository(root: Path) -> Repository:
    """Create one. The cases `plain_a` and `plain_b` take as long as the numbers in files of these names add up to."""
    made = Repository.create(root)
    plain.put_into(root)
    shutil.copy(plain.SUPPORT / "weighing.py", root)
    made.write("pytest.ini", INI)
    made.write(".gitignore", ".ngraph\n__pycache__\nstd*\nrunpytest*\n*.xml\n")
    workloads, compilers = ["plain_a", "plain_b"], ["weighing:Weighs"]
    made.write("test_it.py", TESTS.format(workloads=workloads, batch_sizes=[1], compilers=compilers))
    return made
