"""Workers that die or stop while a real compiler works in them."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from fault_project import Project, Started, finished

from pytest_ngraph import store
from pytest_ngraph.record import FailureKind, Phase

NETS = """
import torch

def wide():
    return torch.nn.Sequential(*(torch.nn.Linear(512, 512) for _ in range(8))), torch.ones(8, 512)
"""
SURVIVOR = "identity"
LIMITS = ("--ngraph-budget=3", "--ngraph-timeout=20")


class Blow(NamedTuple):
    """The signal that a compiler's worker gets, in which phase, and how its case then fails."""

    number: signal.Signals
    phase: Phase
    kind: FailureKind


BLOWS = {
    "inductor": Blow(signal.SIGKILL, "compile", "out of memory"),
    "torchscript": Blow(signal.SIGSEGV, "measure", "crashed"),
    "onnxruntime": Blow(signal.SIGKILL, "measure", "out of memory"),
    "openvino": Blow(signal.SIGSTOP, "measure", "timed out"),
}


@pytest.mark.slow
def test_each_costs_its_own_case(tmp_path: Path) -> None:
    for library in ("onnxruntime", "openvino"):
        pytest.importorskip(library)
    project = Project(tmp_path, workloads=["nets:wide"], compilers=[SURVIVOR, *BLOWS])
    (project.root / "nets.py").write_text(NETS)
    run = project.start(*LIMITS)
    dealt = deal(project, run)
    status, printed = finished(run)
    assert dealt == set(BLOWS), printed
    assert status == pytest.ExitCode.TESTS_FAILED, printed
    records = {record.case.compiler: record for record in project.records.values()}
    assert records.pop(SURVIVOR).outcome == "measured"
    failures = {compiler: record.failure for compiler, record in records.items()}
    for compiler, blow in BLOWS.items():
        failure = failures[compiler]
        assert failure is not None
        assert (failure.phase, failure.kind) == (blow.phase, blow.kind)
    project.assert_nothing_left()


def deal(project: Project, run: Started) -> set[str]:
    """Send each compiler's worker its signal once it is in the phase for it. Return the compilers that got one."""
    dealt: set[str] = set()
    while run.poll() is None:
        for compiler, phase in phases(project).items():
            blow = BLOWS.get(compiler)
            if blow and compiler not in dealt and phase == blow.phase:
                worker_of(compiler, run).send_signal(blow.number)
                dealt.add(compiler)
    return dealt


def phases(project: Project) -> dict[str, Phase]:
    """Return the phase that each compiler's case entered last."""
    found = {}
    for path in project.store.glob(f"*{store.SUFFIX}"):
        for line in path.read_bytes().splitlines():
            if line.startswith(b'{"phase"') and line.endswith(b"}"):
                data = json.loads(line)
                found[data["case"]["compiler"]] = data["phase"]
    return found


def worker_of(compiler: str, run: Started) -> psutil.Process:
    children = (child for child in psutil.Process(run.pid).children() if child.status() != psutil.STATUS_ZOMBIE)
    (worker,) = [child for child in children if child.cmdline()[-1] == compiler]
    return worker
