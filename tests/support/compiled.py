"""Helpers for tests of compilers: targets to compile for, and a worker that has compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from forking import TorchServer

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import CompiledModel
from pytest_ngraph.machine.machine import this_machine

Export = Callable[[Case], Artifact]
Compile = Callable[..., Path]
Load = Callable[..., CompiledModel]

CPU = Target(cores=this_machine().cores[:2])
THROUGHPUT = Target(cores=CPU.cores, objective="throughput")


@contextmanager
def working(
    compiler: str, folder: Path, target: Target = CPU, *, server: TorchServer | None = None
) -> Iterator[WorkerProcess]:
    """Start a worker, or fork it from a server, that has compiled a small block and warmed it up."""
    require(compiler)
    case = Case(workload="conv", compiler=compiler, batch_size=1, depth=1, width=16)
    forked = server.of(target.cores, folder) if server else None
    worker = WorkerProcess(cores=target.cores, temporary=folder, server=forked)
    try:
        artifact = worker.request("export", timeout_s=120, case=case.group.to_dict(), folder=str(folder))
        worker.request(
            "prepare",
            timeout_s=300,
            case=case.to_dict(),
            artifact=artifact,
            target=target.to_dict(),
            warmup_s=0.2,
            round_s=0.05,
        )
        yield worker
    finally:
        worker.close()


def require(compiler: str) -> None:
    """Skip the test where this compiler cannot run on a CPU of this machine."""
    missing = compilers.missing_library(compiler)
    if missing:
        pytest.skip(missing)
    if "cpu" not in compilers.resolve(compiler).kinds:
        pytest.skip(f"{compiler} compiles for {', '.join(compilers.resolve(compiler).kinds)}, this suite for cpu")
