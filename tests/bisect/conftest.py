"""A repository whose cases take exactly as long as its files say."""

from __future__ import annotations

import shutil
from pathlib import Path

import plain
import pytest
from fault_project import INI, TESTS
from repository import Repository


@pytest.fixture
def weighed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The cases `plain_a` and `plain_b` take as long as the numbers in `plain_a.txt` and `plain_b.txt` add up to."""
    root = tmp_path / "project"
    made = Repository.create(root)
    plain.put_into(root)
    shutil.copy(plain.SUPPORT / "weighing.py", root)
    made.write("pytest.ini", INI)
    made.write(".gitignore", ".ngraph\n__pycache__\n")
    workloads, compilers = ["plain_a", "plain_b"], ["weighing:Weighs"]
    made.write("test_it.py", TESTS.format(workloads=workloads, batch_sizes=[1], compilers=compilers))
    monkeypatch.chdir(root)
    return made
