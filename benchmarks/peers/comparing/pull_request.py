"""What a pull request that changed a few networks costs: our gate, and asv with its default settings."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from gate_trials.cells import NETWORKS
from gate_trials.matrix import Matrix
from gate_trials.pytest_run import output_of
from markdown_output import table

from comparing.environments import Unavailable, python_with
from pytest_ngraph import store

COMPILER = "torchscript"
ASV = "asv>=0.6.4"
BENCHMARKS = """
import sys
sys.path.insert(0, {tree!r})
import networks, torch
torch.set_num_threads({threads})


class Network:
    params = {names!r}

    def setup(self, name):
        network, number = name.split("-")
        module, self.values = getattr(networks, network)(int(number))
        self.module = torch.jit.freeze(torch.jit.trace(module.eval(), self.values))

    def time_call(self, name):
        with torch.inference_mode():
            self.module(self.values)
"""


def find(asked: argparse.Namespace) -> str:
    """Return a table with a row for each tool."""
    with tempfile.TemporaryDirectory(prefix="ngraph-peers-") as folder:
        matrix = Matrix(Path(folder), networks=asked.networks, compilers=[COMPILER], changed=asked.changed)
        rows = [_ours(matrix)]
        try:
            rows.append(_asv(matrix, asked.networks))
        except Unavailable as reason:
            rows.append(["asv", "–", "–", str(reason)])
    return table(["tool", "wall time, s", "cases measured", "what it does"], rows)


def _ours(matrix: Matrix) -> list[str]:
    started = time.monotonic()
    output_of(matrix.head, "test_gate.py", "--ngraph-against=HEAD~1", "--ngraph-inconclusive=pass", environment={})
    wall_s = time.monotonic() - started
    records = store.read(matrix.head / ".ngraph").records
    measured = sum(record.outcome == "measured" for record in records)
    return [
        "pytest-ngraph",
        f"{wall_s:.0f}",
        f"{measured} of {len(records)}",
        "`--ngraph-against`: base and head alternately, confirmed in fresh processes",
    ]


def _asv(matrix: Matrix, networks: int) -> list[str]:
    """Run asv in a tree of each revision, in an environment that exists, and compare the two results.

    `asv continuous` does the same, and builds an environment for each revision before; that is not counted here.
    Raises `Unavailable`.
    """
    python = python_with(ASV)
    root = matrix.head.parent
    base = root / "base"
    git = ["git", "-C", str(matrix.head)]
    subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(base), "HEAD~1"], check=True)
    hashes = [
        subprocess.run([*git, "rev-parse", name], capture_output=True, text=True, check=True).stdout.strip()
        for name in ("HEAD~1", "HEAD")
    ]
    environment = os.environ | {"HOME": str(root)}  # asv describes the machine in a file there
    started = time.monotonic()
    for tree, commit in zip((base, matrix.head), hashes, strict=True):
        folder = root / f"asv-{commit[:8]}"
        _configure(folder, tree, root / "results", networks)
        run = ["run", "--environment", f"existing:{python}", "--set-commit-hash", commit, "--machine", "here"]
        _call(python, folder, environment, "machine", "--yes", "--machine", "here")
        _call(python, folder, environment, *run)
    _call(python, root / f"asv-{hashes[1][:8]}", environment, "compare", "--machine", "here", *hashes)
    wall_s = time.monotonic() - started
    files = (root / "results" / "here").glob("*.json")
    counts = [
        sum(value is not None for value in next(iter(json.loads(file.read_text())["results"].values()))[0])
        for file in files
        if file.name != "machine.json"
    ]
    return [
        "asv",
        f"{wall_s:.0f}",
        f"{min(counts)} of {networks}",
        "`asv run` of both revisions with its default settings, then `asv compare`; no environment is built",
    ]


def _configure(folder: Path, tree: Path, results: Path, networks: int) -> None:
    """Write asv's configuration and benchmarks for one revision."""
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "benchmarks" / "__init__.py").touch()
    names = [f"{NETWORKS[number % len(NETWORKS)]}-{number}" for number in range(networks)]
    threads = len(os.sched_getaffinity(0))
    text = BENCHMARKS.format(tree=str(tree), names=names, threads=threads)
    (folder / "benchmarks" / "networks_benchmark.py").write_text(text)
    configuration = {
        "version": 1,
        "project": "networks",
        "repo": str(tree),
        "branches": ["HEAD"],
        "results_dir": str(results),
        "environment_type": "existing",
    }
    (folder / "asv.conf.json").write_text(json.dumps(configuration))


def _call(python: Path, folder: Path, environment: dict[str, str], *arguments: str) -> None:
    """Run asv. Raises `Unavailable` if it fails."""
    command = [str(python), "-m", "asv", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stdout + done.stderr).strip().splitlines()[-1:]
        raise Unavailable(f"asv {arguments[0]} failed: {' '.join(last)}")
