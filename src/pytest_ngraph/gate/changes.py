"""What is known of how cases changed from the base to the head: their times, and what they need besides."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import BASE, HEAD, Comparison
from pytest_ngraph.gate.decision import weigh
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL, Pooled, Prior, combine, departure, pool
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Assessment, VerdictName
from pytest_ngraph.record import Record

READINGS: Mapping[str, Prior] = {
    "compile_s": Prior(0.05, 4),
    "cpu_percent": Prior(0.05, 4),
    "peak_memory_bytes": Prior(0.005, 4),
}
"""What is read once in each process, by the name of its metric, and how much it spreads from process to process where
nothing changed, as logarithms. Memory may have no spread at all in three processes, and is not known exactly for that.
"""


class Uncompared(Exception):
    """A case could not be compared. name: the verdict on what needs it; the text says why."""

    def __init__(self, name: VerdictName, reason: str) -> None:
        super().__init__(reason)
        self.name = name


class Reading(NamedTuple):
    """head: in the metric's unit. change: the logarithm of that over the base's."""

    head: float
    change: Pooled


class Changes(Protocol):
    """Tells of cases that a run has measured beside a base."""

    @property
    def name(self) -> str:
        """The base, as people read it."""
        ...

    def decide(self, worse: Pooled, rule: Rule) -> Assessment:
        """What a log ratio says of a metric, above 0 where it got worse."""
        ...

    def seconds(self, case: Case) -> Pooled:
        """The logarithm of head's seconds per iteration, as well as it says what another process would take. Raises
        `Uncompared`."""
        ...

    def time(self, case: Case) -> Pooled:
        """The logarithm of head's seconds per iteration over base's. Raises `Uncompared`."""
        ...

    def reading(self, case: Case, metric: str) -> Reading:
        """One of `READINGS`. Raises `Uncompared`."""
        ...


def time_change(record: Record, rule: Rule) -> Pooled:
    """The log ratio of times that a record's comparison knows. Raises `Uncompared`."""
    comparison = _comparison(record)
    if comparison.same:
        return EXACTLY_EQUAL
    evidence = weigh(comparison.launches, rule, comparison.placement)
    if evidence is None:
        raise Uncompared("inconclusive", "too little was measured to tell how wrong it is")
    return evidence.confirmed


def reading_of_launches(record: Record, metric: str) -> Reading:
    """What a record's launches of one arm alone tell. Raises `Uncompared`."""
    comparison = _comparison(record)
    if comparison.same:
        own = getattr(record, metric)
        if own is None:
            raise Uncompared("inconclusive", f"{metric} was not recorded")
        return Reading(own, EXACTLY_EQUAL)
    values = {arm: [getattr(each, metric) for each in comparison.alone if each.arm == arm] for arm in (HEAD, BASE)}
    if not all(found and all(found) for found in values.values()):
        raise Uncompared("inconclusive", comparison.alone_problem or f"not every process told its {metric}")
    head, base = (pool(_effects(values[arm]), READINGS[metric]) for arm in (HEAD, BASE))
    return Reading(math.exp(head.mean), combine([(1.0, head), (-1.0, base)]))


def reading_of_runs(record: Record, runs: Sequence[Record], metric: str) -> Reading:
    """What a record tells beside those of a stored baseline. Raises `Uncompared`."""
    own, *others = (getattr(each, metric) for each in (record, *runs))
    known = [value for value in others if value]
    if not own:
        raise Uncompared("inconclusive", f"{metric} was not recorded in this run")
    if not known:
        raise Uncompared("new", f"{metric} was not recorded in the baseline")
    return Reading(own, departure(Effect(math.log(own), 0.0), _effects(known), READINGS[metric]))


def _comparison(record: Record) -> Comparison:
    """What a record knows of its base. Raises `Uncompared`."""
    comparison = record.comparison or Comparison(problem="it was not measured beside a base")
    if comparison.problem:
        raise Uncompared("inconclusive", comparison.problem)
    if comparison.new:
        raise Uncompared("new", f"{comparison.against or 'the base'} does not have it")
    return comparison


def _effects(values: Sequence[float]) -> list[Effect]:
    """What is read has no error within its process."""
    return [Effect(math.log(value), 0.0) for value in values]
