"""What a worker finds in its environment."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from pytest_ngraph.bench.processes.process import WorkerProcess
from pytest_ngraph.compilers.threads import COMPILING
from pytest_ngraph.machine import cores


def environment_of_worker(temporary: Path) -> dict[str, str]:
    worker = WorkerProcess(cores=(0,), temporary=temporary)
    environment: dict[str, str] = {}
    while not environment and worker.alive:  # Linux shows none until the program has been loaded
        environment = psutil.Process(worker.pid).environ()
    worker.close()
    return environment


def test_what_measures_coverage_does_not_trace_what_is_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COVERAGE_PROCESS_START", "coverage.toml")
    assert "COVERAGE_PROCESS_START" not in environment_of_worker(tmp_path)


def test_threads_are_sized_and_bound_by_the_environment(tmp_path: Path) -> None:
    environment = environment_of_worker(tmp_path)
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["OMP_PLACES"] == "{0}"
    assert environment["OMP_PROC_BIND"] == "true"


def test_compiling_may_use_cores_on_which_nothing_computes(tmp_path: Path) -> None:
    expected = cores.to_compile_on((0,))
    assert environment_of_worker(tmp_path)[COMPILING] == ",".join(map(str, expected))
