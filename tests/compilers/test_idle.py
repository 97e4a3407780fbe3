"""While one arm works, the others wait. A thread that spins on after its round takes the core from the next arm."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.process import WorkerProcess
from pytest_ngraph.case import Case

TARGET = Target(cores=(0, 1) if (psutil.cpu_count() or 1) > 1 else (0,))
WATCHED_S = 0.5
MOST_CPU_S = 0.1
"""One thread that spins would use five times as much."""


@pytest.mark.parametrize("compiler", ["identity", "torchscript", "onnxruntime", "openvino", "tvm"])
def test_an_idle_model_uses_no_core(compiler: str, tmp_path: Path) -> None:
    if missing := compilers.missing_library(compiler):
        pytest.skip(missing)
    case = Case(workload="conv", compiler=compiler, batch_size=1, depth=1, width=16)
    worker = WorkerProcess(cores=TARGET.cores, temporary=tmp_path)
    try:
        artifact = worker.request("export", timeout_s=120, case=case.group.to_dict(), folder=str(tmp_path))
        worker.request(
            "prepare",
            timeout_s=300,
            case=case.to_dict(),
            artifact=artifact,
            target=TARGET.to_dict(),
            warmup_s=0.2,
            round_s=0.05,
        )
        worker.request("measure", timeout_s=60, calls=20)
        process = psutil.Process(worker.pid)
        before = process.cpu_times()
        time.sleep(WATCHED_S)  # what it does meanwhile is what is tested
        after = process.cpu_times()
    finally:
        worker.close()
    assert after.user + after.system - before.user - before.system < MOST_CPU_S
