"""How cases changed from the base to the head: their times, and what else they need (compile time, CPU, memory)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import BASE, HEAD, Comparison
from pytest_ngraph.costs import Costs
from pytest_ngraph.gate.assessment import Assessment
from pytest_ngraph.gate.decision import weigh
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL, Pooled, Prior, combine, departure, pool
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import VerdictName, why_new
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.record import Record

ALONE: Mapping[str, Prior] = {
    "compile_s": Prior(0.05, 4),
    "cpu_percent": Prior(0.05, 4),
    "worker_memory_bytes": Prior(0.005, 4),
}
"""The metrics that are read once in each process in which an arm is launched alone, with their spread (of logarithms)
from process to process where nothing changed. The prior matters for memory: three processes may agree exactly by
chance.
"""
SERVING: Mapping[str, Prior] = {
    "cold_start_s": Prior(0.05, 4),
    "serving_import_s": Prior(0.05, 4),
    "serving_load_s": Prior(0.05, 4),
    "serving_first_call_s": Prior(0.05, 4),
    "serving_memory_bytes": Prior(0.005, 4),
    "serving_private_bytes": Prior(0.005, 4),
    "serving_peak_bytes": Prior(0.005, 4),
    "artifact_bytes": Prior(0.0001, 1000),
    "install_bytes": Prior(0.0001, 1000),
}
"""Likewise, of processes that only serve. A size is one number: what is compiled twice differs by a few bytes."""
READINGS: Mapping[str, Prior] = {**ALONE, **SERVING}
"""All metrics that are read in processes, not sampled in rounds."""

SPREADS: Mapping[str, Prior] = {**READINGS, **dict.fromkeys(PERCENTILES, Prior(0.05, 4))}
"""The same for every metric that is compared by launches of its own: also percentiles of single calls."""


class Uncompared(Exception):
    """A case could not be compared; the text says why.

    Attributes:
        name: the verdict on a metric that needs this case.
        broken: whether the base failed to be built or run.
    """

    def __init__(self, name: VerdictName, reason: str, *, broken: bool = False) -> None:
        super().__init__(reason)
        self.name = name
        self.broken = broken


class Reading(NamedTuple):
    """A metric of `SPREADS`, compared with the base's.

    Attributes:
        head: the head's value, in the metric's unit.
        change: the logarithm of head over base.
    """

    head: float
    change: Pooled


class Changes(Protocol):
    """How the cases of a run changed from its base."""

    @property
    def name(self) -> str:
        """The base, as shown to users."""
        ...

    def assess(self, worse: Pooled, rule: Rule) -> Assessment:
        """Return the verdict on a metric from a log ratio, which is above 0 where it got worse."""
        ...

    def seconds(self, case: Case) -> Pooled:
        """Return the logarithm of head's seconds per iteration, with the uncertainty of another process.

        Raises:
            Uncompared: the case was not measured, or too little.
        """
        ...

    def time(self, case: Case) -> Pooled:
        """Return the logarithm of head's seconds per iteration over base's. Raises `Uncompared` if there is none."""
        ...

    def reading(self, case: Case, metric: str) -> Reading:
        """Return a metric of `SPREADS`. Raises `Uncompared` where either side was not read."""
        ...


def time_change_of_launches(record: Record, rule: Rule) -> Pooled:
    """Return the log ratio of times from a record's comparison. Raises `Uncompared` where it has none."""
    comparison = comparison_of(record)
    if comparison.same:
        return EXACTLY_EQUAL
    evidence = weigh(comparison.launches, rule.applied_to(comparison), comparison.placement)
    if evidence is None:
        raise Uncompared("inconclusive", "too little was measured to estimate the error")
    return evidence.confirmed


def reading_of_launches(record: Record, metric: str) -> Reading:
    """Return what launches of one arm alone, or of what serves it, show of a metric of `READINGS`.

    Raises:
        Uncompared: the case was not compared, or a process did not report the metric.
    """
    comparison = comparison_of(record)
    if comparison.same:
        own = record.reading(metric)
        if own is None:
            raise Uncompared("inconclusive", f"{metric} was not recorded")
        return Reading(own, EXACTLY_EQUAL)
    if metric in SERVING:
        costs = {HEAD: record.serving or Costs(), BASE: comparison.serving or Costs()}
        values = {arm: own.values(metric) for arm, own in costs.items()}
        problem = next((f"the {arm} has none: {own.problem}" for arm, own in costs.items() if own.problem), "")
    else:
        values = {arm: [getattr(each, metric) for each in comparison.alone if each.arm == arm] for arm in (HEAD, BASE)}
        problem = comparison.alone_problem
    if not all(found and all(found) for found in values.values()):
        raise Uncompared("inconclusive", problem or f"not every process reported its {metric}")
    head, base = (pool(_effects(values[arm]), READINGS[metric]) for arm in (HEAD, BASE))
    return Reading(math.exp(head.mean), combine([(1.0, head), (-1.0, base)]))


def reading_of_runs(record: Record, runs: Sequence[Record], metric: str) -> Reading:
    """Return a metric of `READINGS` of a record, compared with the records of a stored baseline.

    Raises:
        Uncompared: this run or the baseline did not record the metric.
    """
    own, *others = (each.reading(metric) for each in (record, *runs))
    known = [value for value in others if value]
    if not own:
        raise Uncompared("inconclusive", f"{metric} was not recorded in this run")
    if not known:
        raise Uncompared("new", f"{metric} was not recorded in the baseline")
    return Reading(own, departure(Effect(math.log(own), 0.0), _effects(known), READINGS[metric]))


def comparison_of(record: Record) -> Comparison:
    """Return a record's comparison with its base. Raises `Uncompared` where it has a problem or is new."""
    comparison = record.comparison or Comparison(problem="it was not measured beside a base")
    if comparison.new or comparison.base_skipped:
        raise Uncompared("new", why_new(comparison))
    if comparison.problem:
        raise Uncompared("inconclusive", comparison.problem, broken=bool(comparison.broken))
    return comparison


def _effects(values: Sequence[float]) -> list[Effect]:
    """Return values that were read once as effects: a reading has no error within its process."""
    return [Effect(math.log(value), 0.0) for value in values]
