"""Those that bisect a trial's repository: this project's command, and `asv find`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gate_trials.repository import UNCONFIGURED

from bisect_trial.history import BEGIN, NETWORK, History, Trial

OURS, ASV = "pytest-ngraph bisect", "asv find"
TIMEOUT_S = 3 * 3600.0
SUITE = f"""
import sys
sys.path.insert(0, sys.prefix)  # where the commit's network is installed
sys.path += {{site}}
import torch
torch.set_num_threads({{threads}})
import networks

class Net:
    timeout = 600

    def setup(self):
        module, values = networks.{NETWORK}(0)
        self.values = values
        self.model = torch.jit.trace(module.eval(), values)
        for _ in range(50):
            self.model(values)

    def time_net(self):
        with torch.no_grad():
            self.model(self.values)
"""
INSTALL = """
import shutil, sys
build, target = sys.argv[1:]
for name in ("networks.py", "cells.json"):
    shutil.copy(f"{build}/{name}", target)
open(f"{target}/installed.txt", "a").write("1")
"""
FOUND = re.compile(r"(?:regression|improvement) found: ([0-9a-f]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of a trial.

    Attributes:
        named: whether a commit was named.
        right: whether it is the guilty one.
        within: whether the guilty one is in the range that was named instead.
        steps: runs, of which each measures a commit.
    """

    trial: Trial
    finder: str
    named: bool
    right: bool
    within: bool
    steps: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Finding:
        return cls(**data | {"trial": Trial(**data["trial"])})


def ours(trial: Trial, history: History, threads: int) -> Finding:
    """Bisect with this project's command."""
    options = [f"--ngraph-gate-threads={threads}"]
    command = [sys.executable, "-m", "pytest_ngraph.cli", "bisect", BEGIN, "--json", "--", "test_net.py", *options]
    started = time.monotonic()
    printed = _output(command, history.folder, accepted=(0, 1))
    seconds = time.monotonic() - started
    if not printed.startswith("{"):
        raise RuntimeError(f"no outcome: {printed}")
    return of_outcome(trial, history.guilty, json.loads(printed), seconds)


def of_outcome(trial: Trial, guilty: str, outcome: dict[str, Any], seconds: float) -> Finding:
    """Return the finding in our command's outcome."""
    named = [each["commit"] for each in outcome["culprits"]]
    return Finding(
        trial=trial,
        finder=OURS,
        named=bool(named),
        right=named == [guilty],
        within=any(guilty in each["commits"] for each in outcome["ranges"]),
        steps=outcome["steps"],
        seconds=seconds,
    )


def asv(trial: Trial, history: History, threads: int, python: str) -> Finding:
    """Bisect with `asv find`, which has to be installed for this interpreter, with virtualenv."""
    project = history.folder.parent / "asv"
    (project / "benchmarks").mkdir(parents=True)
    (project / "benchmarks" / "__init__.py").touch()
    site = [entry for entry in sys.path if entry.endswith("site-packages")]
    (project / "benchmarks" / "net.py").write_text(SUITE.format(site=site, threads=threads))
    (project / "install.py").write_text(INSTALL)
    install = f"python {project / 'install.py'} {{build_dir}} {{env_dir}}"
    settings = {
        "version": 1,
        "project": "trial",
        "project_url": "http://localhost",
        "repo": str(history.folder),
        "branches": [history.git("symbolic-ref", "--short", "HEAD")],
        "environment_type": "virtualenv",
        "pythons": [f"{sys.version_info.major}.{sys.version_info.minor}"],
        "build_command": [],
        "install_command": [install],
        "uninstall_command": ["python -c pass"],
        "matrix": {"req": {}},
    }
    (project / "asv.conf.json").write_text(json.dumps(settings))
    _output([python, "-m", "asv", "machine", "--yes"], project)
    started = time.monotonic()
    printed = _output([python, "-m", "asv", "find", f"{BEGIN}..HEAD", "net.Net.time_net"], project, accepted=(0, 1))
    seconds = time.monotonic() - started
    found = FOUND.search(printed)
    installed = sum(file.stat().st_size for file in project.glob("env/*/installed.txt"))
    return Finding(
        trial=trial,
        finder=ASV,
        named=found is not None,
        right=bool(found and history.guilty.startswith(found[1])),
        within=False,
        steps=installed,
        seconds=seconds,
    )


def _output(command: list[str], folder: Path, accepted: tuple[int, ...] = (0,)) -> str:
    """Run a command, let its errors be seen, and return what it prints.

    When this process is interrupted, the command is ended, and has the time to remove what it made.
    """
    process = subprocess.Popen(
        command, cwd=folder, env=os.environ | UNCONFIGURED, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=TIMEOUT_S)
    except BaseException:
        process.terminate()
        process.communicate()
        raise
    if process.returncode not in accepted:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}: {printed}")
    return printed
