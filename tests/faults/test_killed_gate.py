"""A gate that is killed half-way and then resumed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fault_project import Project, finished
from repository import Repository

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
AGAINST = "--ngraph-against=main"


@pytest.mark.slow
def test_what_was_compared_stands_and_is_judged_with_the_rest(tmp_path: Path) -> None:
    workloads = ["nets:first", "nets:second", "nets:third"]
    project = Project(tmp_path, workloads=workloads, batch_sizes=[8], compilers=["torchscript"])
    repository = Repository.create(project.root)
    repository.write(".gitignore", ".ngraph\n")
    repository.write("nets.py", NETS.format(width=64))
    repository.commit("narrow")
    repository.write("nets.py", NETS.format(width=768))
    run = project.start(AGAINST)
    project.wait_for(1, run)
    run.send_signal(signal.SIGKILL)
    assert finished(run)[0] == -signal.SIGKILL
    (compared,) = project.records.items()

    status, printed = project.run(AGAINST, "--ngraph-resume")
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    assert "1 case of run" in printed
    assert "2 regressed, 1 unchanged" in printed
    after = project.records
    assert after[compared[0]] == compared[1]
    assert len(after) == 3
    assert repository.worktrees() == 1
