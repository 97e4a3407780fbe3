"""The cost of a session of many cases that are measured in no time, beside that of pytest-benchmark with as many."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cluster_costs.started import seconds_of
from fault_project import Project
from markdown_output import table

from comparing import figures
from comparing.child import session_s
from pytest_ngraph.metrics.text import number

ABSENT = "–"
SIZES = 100
"""Most batch sizes of a workload."""
PROBE = """
import json, resource

def pytest_unconfigure():
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    with open("peaks.json", "w") as file:
        json.dump(peaks, file)
"""
BENCHMARK_TEST = """
import pytest

@pytest.mark.parametrize("number", range({cases}))
def test_it(benchmark, number):
    benchmark.pedantic(len, args=((),), rounds=6)
"""
HEADING = (
    "cases", "session, s", "per case, ms", "peak memory of pytest, MiB", "of a worker, MiB",
    "pytest-benchmark's session, s", "its case, ms", "its peak memory, MiB",
)  # fmt: skip


class Cost(NamedTuple):
    """The cost of a session: its seconds, and the peak memory of pytest and of the largest of its workers."""

    seconds: float
    pytest_mib: float
    worker_mib: float


def find(parsed: argparse.Namespace) -> str:
    """Return a row for each number of cases, and how our seconds grow."""
    with tempfile.TemporaryDirectory(prefix="ngraph-sessions-") as name:
        folder = Path(name)
        pairs = [
            (ngraph_cost(folder / f"ngraph{count}", count), benchmark_cost(folder / f"benchmark{count}", count))
            for count in parsed.cases
        ]
    ours, theirs = zip(*pairs, strict=True)
    return report(parsed.cases, ours, theirs)


def report(sizes: Sequence[int], ours: Sequence[Cost], theirs: Sequence[Cost]) -> str:
    per_case = [per_case_ms(sizes, own) for own in (ours, theirs)]
    rows = [
        [
            f"{count:,}", number(our.seconds), per_case[0][place], f"{our.pytest_mib:.0f}", f"{our.worker_mib:.0f}",
            number(their.seconds), per_case[1][place], f"{their.pytest_mib:.0f}",
        ]
        for place, (count, our, their) in enumerate(zip(sizes, ours, theirs, strict=True))
    ]  # fmt: skip
    return "\n\n".join([table(HEADING, rows), *slope(sizes, ours)])


def per_case_ms(sizes: Sequence[int], costs: Sequence[Cost]) -> list[str]:
    """Return the milliseconds per case beyond the session of the first size.

    There is no value for the first size, and none where the difference is lost in the random spread of sessions.
    """
    beyond = [
        1000 * (cost.seconds - costs[0].seconds) / (size - sizes[0])
        for size, cost in zip(sizes[1:], costs[1:], strict=True)
    ]
    return [ABSENT, *(number(ms) if ms > 0 else ABSENT for ms in beyond)]


def slope(sizes: Sequence[int], costs: Sequence[Cost]) -> list[str]:
    """Return a sentence on how our seconds grow with cases, both beyond the first size's. Needs three sizes."""
    cases = [size - sizes[0] for size in sizes[1:]]
    seconds = [cost.seconds - costs[0].seconds for cost in costs[1:]]
    if len(sizes) < 3 or min(seconds) <= 0:
        return []
    return [
        f"Seconds of pytest-ngraph beyond the first session, over cases beyond its own: a slope of "
        f"{figures.slope(cases, seconds):.2f} in logarithms; 1 is a flat cost per case."
    ]


def ngraph_cost(folder: Path, cases: int) -> Cost:
    """Return the cost of a session of ours. Its workers, records and store are real; its compiler is a fake."""
    workloads = [f"plain{number}" for number in range(-(-cases // SIZES))]
    sizes = range(1, cases // len(workloads) + 1)
    project = Project(folder, workloads=workloads, batch_sizes=sizes, compilers=["faulty:Instant"])
    (project.root / "conftest.py").write_text(PROBE)
    return Cost(seconds_of(project), *json.loads((project.root / "peaks.json").read_text()))


def benchmark_cost(folder: Path, cases: int) -> Cost:
    """Return the cost of a session of pytest-benchmark alone, whose measured function does almost nothing."""
    folder.mkdir(parents=True)
    (folder / "conftest.py").write_text(PROBE)
    (folder / "test_it.py").write_text(BENCHMARK_TEST.format(cases=cases))
    seconds = session_s(folder, "-p", "no:ngraph")
    return Cost(seconds, *json.loads((folder / "peaks.json").read_text()))
