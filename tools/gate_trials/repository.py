"""The test repository: networks and tests, committed twice. The revisions differ in `cells.json`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gate_trials.cells import Cell

INI = "[pytest]\npythonpath = .\nngraph_cache = cache\nngraph_devices = devices.toml\n"
IGNORED = "__pycache__\n.ngraph\ncache\n*.xml\n"
WARMUP_ROUNDS = 50
MARK = '@pytest.mark.ngraph(workload="networks:{network}", compiler="{compiler}", model_args={{"cell": {number}}})'
TEST = f"{MARK}\ndef test_cell_{{number}}(measurement): ...\n"
TIMED_TEST = f"""{MARK}
def test_cell_{{number}}(benchmark, compiled_model):
    benchmark.pedantic(compiled_model, rounds={{rounds}}, warmup_rounds={WARMUP_ROUNDS})
"""
AUTHOR = ("-c", "user.name=trials", "-c", "user.email=trials@localhost")
UNCONFIGURED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


class Version(NamedTuple):
    """A cell in a revision: the seed of its weights, and how many more rows it computes than the base."""

    seed: int
    rows: int


class Repository:
    """The head's working tree and one of the base, created in `root`, an empty folder.

    Args:
        root: the folder.
        cells: the cells; each is known in the repository by its number in this sequence.
        rows: excess rows in the head of each cell.
        threads: number of cores on which the networks compute.
    """

    def __init__(self, root: Path, cells: Sequence[Cell], rows: Sequence[int], threads: int) -> None:
        self.head, self.base = root / "head", root / "base"
        self.cells = dict(enumerate(cells))
        self.head.mkdir()
        write_networks(self.head, {number: Version(2 * number, 0) for number in self.cells})
        (self.head / "pytest.ini").write_text(INI)
        (self.head / ".gitignore").write_text(IGNORED)
        (self.head / "devices.toml").write_text(f"[cpu]\nthreads = {threads}\n")
        (self.head / "test_gate.py").write_text(self._tests(TEST, dict.fromkeys(cells, 0)))
        self._git("init", "--quiet")
        self._commit("base")
        # Other weights, so that cells without a slowdown differ and are measured too.
        write_networks(self.head, {number: Version(2 * number + 1, rows[number]) for number in self.cells})
        self._commit("head")
        self._git("worktree", "add", "--quiet", "--detach", str(self.base), "HEAD~1")

    def write_timed_tests(self, rounds: Mapping[Cell, int]) -> None:
        """Write tests into both trees that time each cell themselves, with the given number of rounds."""
        for folder in (self.base, self.head):
            (folder / "test_timed.py").write_text(self._tests(TIMED_TEST, rounds))

    def _tests(self, template: str, rounds: Mapping[Cell, int]) -> str:
        """Return the text of a file with a test of each cell that has rounds."""
        tests = (
            template.format(number=number, network=cell.network, compiler=cell.compiler, rounds=rounds[cell])
            for number, cell in self.cells.items()
            if cell in rounds
        )
        return "\n".join(("import pytest\n", *tests))

    def _commit(self, message: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *AUTHOR, *arguments], cwd=self.head, env=os.environ | UNCONFIGURED, check=True)


def write_networks(folder: Path, versions: Mapping[int, Version]) -> None:
    """Write the networks, and the version of each cell."""
    shutil.copy(Path(__file__).with_name("networks.py"), folder)
    cells = {number: version._asdict() for number, version in versions.items()}
    (folder / "cells.json").write_text(json.dumps(cells))
