"""The tools that measure a network in eager PyTorch: each function here makes an arm of `trials`.

Every session is a process of its own. Threads are as many as ours, and bound to the same cores as ours, and freed
memory is kept, unless the others are to run as they come.
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
from pytest_ngraph.bench.worker_variables import bound_threads
from pytest_ngraph.case import Case
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.worker.memory import KEEPING

OPTIMUM = ("optimum-benchmark==0.6.0", "transformers<5")  # it imports what transformers 5 has no more
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
    """That every arm computes with."""
    return len(this_machine().cores)


def bound() -> dict[str, str]:
    """The environment of arms whose threads are bound, and whose freed memory is kept, as ours are."""
    return {**bound_threads(this_machine().cores), **KEEPING}


def ngraph(*options: str) -> Measure:
    """A pytest session with our plugin and these options."""

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
    """A pytest session with pytest-benchmark alone and these options."""

    def measure(case: Case) -> Reading:
        with tempfile.TemporaryDirectory(prefix="ngraph-peers-") as name:
            folder = Path(name)
            file = folder / "benchmark.json"
            told = ("-p", "no:ngraph", f"--benchmark-json={file}", *options)
            wall_s = _session(folder, BENCHMARK_TEST, case, *told, environment=environment)
            (found,) = json.loads(file.read_text())["benchmarks"]
        return Reading(found["stats"]["median"], found["extra_info"]["measured_s"], wall_s)

    return measure


def benchmark_stops_at_a_precision() -> bool:
    """Whether the pytest-benchmark that is installed has such a rule; 5.3 has."""
    return "precision" in inspect.signature(BenchmarkFixture).parameters


def timer(method: str, environment: Mapping[str, str], **arguments: float) -> Measure:
    """A method of `torch.utils.benchmark.Timer`."""
    return _program("timer", environment, {"method": method, "arguments": arguments})


def loop(environment: Mapping[str, str], **given: float) -> Measure:
    """A plain loop of so many iterations or seconds."""
    return _program("loop", environment, given)


def optimum(seconds: float, environment: Mapping[str, str]) -> Measure:
    """optimum-benchmark, in an environment of its own, which is made at the first use."""

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
    """Seconds of a pytest session of this test, which passes. Raises `Failed`."""
    (folder / "test_it.py").write_text(test.format(workload=case.workload, batch_size=case.batch_size))
    return session_s(folder, *options, environment=environment)
