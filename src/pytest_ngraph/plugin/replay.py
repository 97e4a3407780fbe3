"""Replay samples that a worker measured into pytest-benchmark, through its public interface."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.costs import COSTS

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from pytest_ngraph.record import Record, Round


class ReplayClock:
    """A timer whose n-th pair of readings differs by exactly the n-th sample: each pair starts at zero."""

    def __init__(self) -> None:
        self._readings: Iterator[float] = repeat(0.0)

    def load(self, samples: list[float]) -> None:
        self._readings = chain.from_iterable((0.0, sample) for sample in samples)

    def __call__(self) -> float:
        return next(self._readings)


def mark_for_replay(item: pytest.Item, case: Case) -> None:
    """Have pytest-benchmark read a replay clock for this test, and group the cases that were measured together."""
    mark_group(item, case, timer=ReplayClock())


def mark_group(item: pytest.Item, case: Case, **more: Any) -> None:
    """Have pytest-benchmark group the cases of one workload and size in its table; `more` is for its mark."""
    own = item.get_closest_marker("benchmark")
    merged = {"group": case.group_label, **(own.kwargs if own else {}), **more}
    item.add_marker(pytest.mark.benchmark(**merged), append=False)


def replay(benchmark: BenchmarkFixture, item: pytest.Item, record: Record) -> None:
    """Give pytest-benchmark the record's samples, exactly, and describe the case in `extra_info`."""
    benchmark.extra_info.update(extra_info(record))
    samples = record.samples.tolist()
    marker = item.get_closest_marker("benchmark")
    assert marker is not None
    clock = marker.kwargs["timer"]
    clock.load(samples)
    benchmark.pedantic(_nothing, rounds=len(samples), iterations=1)  # type: ignore[no-untyped-call]
    clock.load([])  # else the mark of each test keeps its samples


def extra_info(record: Record) -> dict[str, Any]:
    """Return what pytest-benchmark's JSON says of a case besides its samples."""
    from pytest_ngraph.metrics.percentiles import values

    case = record.case.to_dict()
    return case | {
        "throughput": record.throughput,
        **values(record.calls),
        "stable": record.stable,
        "convert_s": record.convert_s,
        "compile_s": record.compile_s,
        "load_s": record.load_s,
        "cpu_percent": record.cpu_percent,
        "worker_memory_bytes": record.worker_memory_bytes,
        **({"score": record.score} if record.score is not None else {}),
        **({name: record.reading(name) for name in COSTS} if record.serving else {}),
    }


def observed_rounds(benchmark: BenchmarkFixture, concurrency: int) -> tuple[Round, ...]:
    """Return the rounds that a test has measured itself with `benchmark(compiled_model)`."""
    from pytest_ngraph.record import Round

    assert benchmark.stats is not None
    return tuple(Round(concurrency, seconds) for seconds in benchmark.stats.stats.data)


def _nothing() -> None: ...
