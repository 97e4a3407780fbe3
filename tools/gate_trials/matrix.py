"""A repository of networks under several compilers, committed twice: the head has other weights."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gate_trials.cells import NETWORKS
from gate_trials.repository import AUTHOR, IGNORED, UNCONFIGURED, Version, write_networks

INI = "[pytest]\npythonpath = .\nngraph_cache = cache\n"
TEST = """
@pytest.mark.ngraph(workload="networks:{network}", compiler={compilers}, model_args={{"cell": {number}}})
def test_network_{number}(measurement): ...
"""


class Matrix:
    """The head's working tree, created in `root`, an empty folder; the base is the commit before.

    Args:
        root: the folder.
        networks: how many networks there are.
        compilers: compilers of each network.
        rows: excess rows that the head computes in all networks but the first.
        changed: how many networks, from the first on, have other weights at the head; None for all.
    """

    def __init__(
        self, root: Path, *, networks: int, compilers: Sequence[str], rows: int = 0, changed: int | None = None
    ) -> None:
        self.head = root / "head"
        self.head.mkdir()
        write_networks(self.head, {number: Version(2 * number, 0) for number in range(networks)})
        (self.head / "pytest.ini").write_text(INI)
        (self.head / ".gitignore").write_text(IGNORED)
        tests = (
            TEST.format(network=NETWORKS[number % len(NETWORKS)], compilers=list(compilers), number=number)
            for number in range(networks)
        )
        (self.head / "test_gate.py").write_text("".join(("import pytest\n", *tests)))
        self._git("init", "--quiet")
        self._commit("base")
        count = networks if changed is None else changed
        versions = {
            number: Version(2 * number + 1, rows if number else 0) if number < count else Version(2 * number, 0)
            for number in range(networks)
        }
        write_networks(self.head, versions)
        self._commit("head")

    def _commit(self, message: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", message)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *AUTHOR, *arguments], cwd=self.head, env=os.environ | UNCONFIGURED, check=True)
