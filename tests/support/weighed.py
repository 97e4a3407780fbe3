"""A repository whose cases take exactly as long as its files say."""

from __future__ import annotations

import shutil
from pathlib import Path

import plain
from fault_project import INI, TESTS
from repository import Repository

CONFTEST = '''"""The cases take as long as files say: other work disturbs none, and launches may be short."""

import pytest

from pytest_ngraph.machine import contention
from pytest_ngraph.settings import Settings

NOTHING = contention.Counters(pressure_us=0, steal_ticks=0, all_ticks=0)


def pytest_configure(config):
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    patch.setattr(contention, "read", lambda *_: NOTHING)
    for name in ("warmup_s", "launch_s"):  # for which there are no options
        patch.setitem(Settings.__init__.__kwdefaults__, name, 0.1)
'''


def repository(root: Path) -> Repository:
    """Create one. The cases `plain_a` and `plain_b` take as long as the numbers in files of these names add up to.

    Its runs may be processes of their own, and may run beside other tests.
    """
    made = Repository.create(root)
    plain.put_into(root)
    shutil.copy(plain.USERS / "weighing.py", root)
    made.write("pytest.ini", INI)
    made.write("conftest.py", CONFTEST)
    made.write(".gitignore", ".ngraph\n__pycache__\nstd*\nrunpytest*\n*.xml\n")
    workloads, compilers = ["plain_a", "plain_b"], ["weighing:Weighs"]
    made.write("test_it.py", TESTS.format(workloads=workloads, batch_sizes=[1], compilers=compilers))
    return made
