"""A gate that is killed half-way, and goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from repository import Repository

from faults.project import MAIN, environment, finished, wait_until
from pytest_ngraph import store
from pytest_ngraph.record import Record

NETS = """
import torch

def network(width):
    return torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))), torch.ones(8, width)

def first():
    return network({width})

def second():
    return network({width} + 64)

def third():
    return network(64)
"""
TESTS = """
import pytest

@pytest.mark.ngraph(workload=["nets:first", "nets:second", "nets:third"], compiler="torchscript", batch_size=8)
def test_speed(measurement): ...
"""
AGAINST = ("--ngraph-against=main", "--ngraph-gate-threads=1")


@pytest.mark.slow
def test_what_was_compared_stands_and_is_judged_with_the_rest(tmp_path: Path) -> None:
    repository = Repository.create(tmp_path / "repository")
    repository.write("pytest.ini", "[pytest]\npythonpath = .\nngraph_cache = off\n")
    repository.write(".gitignore", ".ngraph\n__pycache__\n")
    repository.write("nets.py", NETS.format(width=64))
    repository.write("test_it.py", TESTS)
    repository.commit("narrow")
    repository.write("nets.py", NETS.format(width=768))
    run = start(repository, *AGAINST)
    wait_until(lambda: len(records(repository)) == 1 or run.poll() is not None)
    run.send_signal(signal.SIGKILL)
    assert finished(run)[0] == -signal.SIGKILL
    (compared,) = records(repository).items()

    status, printed = finished(start(repository, *AGAINST, "--ngraph-resume"))
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "1 case of run" in printed
    assert "2 regressed, 1 unchanged" in printed
    after = records(repository)
    assert after[compared[0]] == compared[1]
    assert len(after) == 3
    assert repository.worktrees() == 1


def start(repository: Repository, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=repository.root,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def records(repository: Repository) -> dict[str, Record]:
    """Of the newest run, by the case's id."""
    folder = repository.root / ".ngraph"
    return {record.case.id: record for record in store.read(folder).records} if store.run_ids(folder) else {}
