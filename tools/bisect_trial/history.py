"""A repository of many commits, one of which makes its network slower."""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gate_trials.repository import AUTHOR, IGNORED, INI, MARK, UNCONFIGURED, Version, write_networks

NETWORK = "convolutions"
BEGIN = "begin"
"""Tag of the good commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One repository to be bisected.

    Attributes:
        condition: other load on the machine.
        slowdown_percent: what one commit makes the network slower by; 0 for none.
        seed: of everything that is drawn.
    """

    condition: str
    slowdown_percent: float
    seed: int


class History:
    """The repository of a trial, in an empty folder. Every second commit, drawn at random, changes the weights.

    Args:
        rows: excess rows from the guilty commit on.

    Attributes:
        guilty: the commit that makes the network slower; empty where none does.
    """

    def __init__(self, folder: Path, trial: Trial, commits: int, rows: int, compiler: str, threads: int) -> None:
        self.folder = folder
        drawn = random.Random(trial.seed)
        touching = sorted(drawn.sample(range(commits), max(1, commits // 2)))
        slow = drawn.choice(touching) if trial.slowdown_percent else None
        self.guilty = ""
        (folder / "pytest.ini").write_text(INI)
        (folder / ".gitignore").write_text(IGNORED)
        (folder / "devices.toml").write_text(f"[cpu]\nthreads = {threads}\n")
        mark = MARK.format(network=NETWORK, compiler=compiler, number=0)
        (folder / "test_net.py").write_text(f"import pytest\n\n{mark}\ndef test_net(measurement): ...\n")
        write_networks(folder, {0: Version(0, 0)})
        self.git("init", "--quiet")
        self._commit(BEGIN)
        self.git("tag", BEGIN)
        now = 0
        for number in range(commits):
            if number == slow:
                now = rows
            if number in touching:
                write_networks(folder, {0: Version(number + 1, now)})
            (folder / "README.md").write_text(f"{number}\n")
            sha = self._commit(f"commit {number}")
            if number == slow:
                self.guilty = sha

    def git(self, *arguments: str) -> str:
        """Run git in the repository, and return what it prints."""
        ran = subprocess.run(
            ["git", *AUTHOR, *arguments],
            cwd=self.folder,
            env=os.environ | UNCONFIGURED,
            check=True,
            capture_output=True,
            text=True,
        )
        return ran.stdout.strip()

    def _commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")
