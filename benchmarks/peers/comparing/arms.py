"""The tools that measure a network in eager PyTorch. Each function returns an arm of `trials`.

Every session is a process of its own. It has as many threads as ours, bound to the same cores, and keeps freed memory
like ours, unless the others are to run with their defaults.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from comparing.child import Child, Failed, session_s
from comparing.environments import Unavailable, python_with
from comparing.trials import Measure, Reading
from pytest_ngraph import store
from pytest_ngraph.bench.processes.worker_variables import bound_threads
from pytest_ngraph.case import Case
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.worker.memory import KEEPING

OPTIMUM = ("optimum-benchmark==0.6.0", "transformers<5")  # it imports names that transformers 5 removed
OURS = "pytest-ngraph"
NGRAPH_TEST = """
import pytest

@pytest.mark.ngraph(workload={workload!r}, compiler="identity", batch_size={batch_size})
def test_it(measurement): ...
"""
BENCHMARK_TEST = """
import time

import torch

from pytest_ngraph.case import Case
from pytest_ngraph.workloads import build

def test_it(benchmark):
    built = build(Case(workload={workload!r}, compiler="identity", batch_size={batch_size}))
    with torch.inference_mode():
        begin = time.perf_counter()
        benchmark(built.module, *built.inputs)
        benchmark.extra_info["measured_s"] = time.perf_counter() - begin
"""


def threads() -> int:
    """Return the number of threads of every arm."""
    return len(this_machine().cores)


def bound() -> dict[str, str]:
    """Return the environment of arms that bind threads and keep freed memory like ours."""
    return {**bound_threads(this_machine().cores), **KEEPING}


def ngraph(*options: str) -> Measure:
    """Return an arm: a pytest session with our plugin and these options."""

    def measure(case: Case) -> Reading:
        with tempfile.TemporaryDirectory(prefix="ngraph-peers-") as name:
            folder = Path(name)
            kept = folder / "store"
            wall_s = _session(folder, NGRAPH_TEST, case, f"--ngraph-store={kept}", "--ngraph-cache=off", *options)
            (record,) = store.read(kept).records
        assert record.warmup is not None
        return Reading(
            record.latency_s, record.warmup.elapsed_s + sum(each.elapsed_s for each in record.rounds), wall_s
        )

    return measure


def benchmark(*options: str, environment: Mapping[str, str]) -> Measure:
    """Return an arm: a pytest session with pytest-benchmark alone and these options."""

    def measure(case: Case) -> Reading:
        with tempfile.TemporaryDirectory(prefix="ngraph-peers-") as name:
            folder = Path(name)
            file = folder / "benchmark.json"
            alone = ("-p", "no:ngraph", f"--benchmark-json={file}", *options)
            wall_s = _session(folder, BENCHMARK_TEST, case, *alone, environment=environment)
            (found,) = json.loads(file.read_text())["benchmarks"]
        return Reading(found["stats"]["median"], found["extra_info"]["measured_s"], wall_s)

    return measure


def benchmark_stops_at_a_precision() -> bool:
    """Return whether the installed pytest-benchmark has such a rule; 5.3 has."""
    return "precision" in inspect.signature(BenchmarkFixture).parameters


def timer(method: str, environment: Mapping[str, str], **arguments: float) -> Measure:
    """Return an arm: a method of `torch.utils.benchmark.Timer`."""
    return _program("timer", environment, {"method": method, "arguments": arguments})


def loop(environment: Mapping[str, str], **given: float) -> Measure:
    """Return an arm: a plain loop of the given number of iterations or seconds."""
    return _program("loop", environment, given)


def optimum(seconds: float, environment: Mapping[str, str]) -> Measure:
    """Return an arm: optimum-benchmark, in an environment of its own that is made at the first use."""

    def measure(case: Case) -> Reading:
        try:
            python = python_with(*OPTIMUM)
        except Unavailable as reason:
            raise Failed(str(reason)) from reason
        return _program("optimum_inference", environment, {"seconds": round(seconds)}, python)(case)

    return measure


def _program(
    program: str, environment: Mapping[str, str], given: Mapping[str, Any], python: Path = Path(sys.executable)
) -> Measure:
    def measure(case: Case) -> Reading:
        begin = time.perf_counter()
        with Child(
            program, python=python, environment=environment, case=case.to_dict(), threads=threads(), **given
        ) as child:
            found = child.ask()
        return Reading(found["seconds"], found["measured_s"], time.perf_counter() - begin)

    return measure


def _session(folder: Path, test: str, case: Case, *options: str, environment: Mapping[str, str] | None = None) -> float:
    """Return the seconds of a pytest session of this test. Raise `Failed` if it does not pass."""
    (folder / "test_it.py").write_text(test.format(workload=case.workload, batch_size=case.batch_size))
    return session_s(folder, *options, environment=environment)
