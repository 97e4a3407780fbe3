"""Records in the formats of other tools, which keep and plot a history of benchmarks.

Bencher Metric Format: https://bencher.dev/docs/reference/bencher-metric-format. For `customSmallerIsBetter`, see
https://github.com/benchmark-action/github-action-benchmark. Both identify a benchmark by its name: here the case's id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_ngraph.costs import COSTS
from pytest_ngraph.metrics import Metrics
from pytest_ngraph.metrics.cells import why_not_measured
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.metrics.text import in_words
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate

NS, MS = 1e9, 1e3
"""Nanoseconds and milliseconds per second."""


def measured(records: Sequence[Record]) -> list[Record]:
    """Return the last record of each case whose last record has a measurement."""
    latest = {record.case: record for record in records}
    return [record for record in latest.values() if not why_not_measured(record)]


def bencher(records: Sequence[Record], metrics: Metrics) -> dict[str, dict[str, dict[str, float]]]:
    """Return `{case: {measure: metric}}` of measured records.

    The measures are `latency` in nanoseconds, only where one iteration ran at a time; `p50`, `p90`, `p95` and `p99` in
    nanoseconds, as far as single calls were timed; `throughput` in samples per second, in place of bencher's operations
    per second; and what serving costs (`costs.COSTS`) where it was measured.
    """
    found = {}
    for record in records:
        measures = {}
        if record.case.runs_single_calls:
            measures["latency"] = _bounded(_estimate(record, metrics, "latency_s").scaled(NS))
        for name in PERCENTILES:
            if percentile := metrics[record.case][name].estimate:
                measures[name.removesuffix("_s")] = _bounded(percentile.scaled(NS))
        measures["throughput"] = _bounded(_estimate(record, metrics, "throughput"))
        costs = {name: metrics[record.case][name].estimate for name in COSTS}
        measures |= {name: _bounded(estimate) for name, estimate in costs.items() if estimate is not None}
        found[record.case.id] = measures
    return found


def github_action_benchmark(records: Sequence[Record], metrics: Metrics) -> list[dict[str, Any]]:
    """Return a list of measured records for `tool: customSmallerIsBetter`, in milliseconds per iteration.

    The unit is always the same, because the tool compares bare values. `range` is half the 95 % interval; `extra` is
    shown beside a point.
    """
    return [_entry(record, metrics) for record in records]


FORMATS: Mapping[str, Callable[[Sequence[Record], Metrics], Any]] = {
    "bencher": bencher,
    "github-action-benchmark": github_action_benchmark,
}


def _entry(record: Record, metrics: Metrics) -> dict[str, Any]:
    latency = _estimate(record, metrics, "latency_s").scaled(MS)
    extra = [f"throughput: {in_words(metrics[record.case]['throughput'])}", f"rounds: {len(record.rounds)}"]
    unit = "ms" if record.case.runs_single_calls else "ms per iteration"
    entry: dict[str, Any] = {"name": record.case.id, "unit": unit, "value": latency.value, "extra": "\n".join(extra)}
    return entry | {"range": f"± {latency.width / 2:.3g}"} if latency.is_bounded else entry


def _estimate(record: Record, metrics: Metrics, name: str) -> Estimate:
    estimate = metrics[record.case][name].estimate
    assert estimate is not None, f"{record.case.id} was measured, so that it has a {name}"
    return estimate


def _bounded(estimate: Estimate) -> dict[str, float]:
    """Return a metric, with its interval where there is one."""
    value = {"value": estimate.value}
    return value | {"lower_value": estimate.low, "upper_value": estimate.high} if estimate.is_bounded else value
