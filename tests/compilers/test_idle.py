"""An idle model uses no core. While one arm works the others wait, and a thread that spins would take its core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from compiled import working
from forking import TorchServer

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.process import WorkerProcess

TARGET = Target(cores=(0, 1) if (psutil.cpu_count() or 1) > 1 else (0,))
WATCHED_S = 0.5
MOST_CPU_S = 0.1
"""One thread that spins would use five times as much."""


@pytest.fixture(params=["identity", "torchscript", "onnxruntime", "openvino", "tvm"])
def worker(torch_server: TorchServer, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[WorkerProcess]:
    """A worker that has compiled a model, and has warmed it up."""
    with working(request.param, tmp_path, TARGET, server=torch_server) as process:
        yield process


def test_an_idle_model_uses_no_core(worker: WorkerProcess) -> None:
    worker.request("measure", timeout_s=60, calls=20)
    process = psutil.Process(worker.pid)
    before = process.cpu_times()
    time.sleep(WATCHED_S)  # the worker must be idle during this time
    after = process.cpu_times()
    assert after.user + after.system - before.user - before.system < MOST_CPU_S
