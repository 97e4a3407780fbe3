"""Compare metrics with the base's: which metrics of a run the relative thresholds select, and the verdicts on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import ALONE, READINGS, SPREADS, Uncompared
from pytest_ngraph.gate.inversions import judge_inversions
from pytest_ngraph.gate.judge import Judge
from pytest_ngraph.gate.ledger import Ledger
from pytest_ngraph.gate.metric_verdict import MetricVerdict, judge_change
from pytest_ngraph.gate.pooling import combine
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.metrics import Inversion, Metric, Metrics, Scope
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.metrics.ranks import arms_compared, scope_between
from pytest_ngraph.metrics.sensitivity import sensitivities

RANKS = "rank_inversions"


@dataclass(frozen=True, slots=True)
class Gated:
    """A metric that a relative threshold selects.

    Attributes:
        weights: as in `Sensitivity`; empty where the metric does not follow from times alone.
    """

    threshold: Threshold
    scope: Case | Scope
    weights: Mapping[Case, float] = field(default_factory=dict, compare=False)


def gated(thresholds: Iterable[tuple[Threshold, Case | None]], cases: Sequence[Case]) -> list[Gated]:
    """Return the metrics of these cases that each relative threshold selects.

    Args:
        thresholds: each with the case that it belongs to; None where it applies to the whole run.
    """
    relative = [(threshold, owner) for threshold, owner in thresholds if threshold.is_relative]
    if not relative:
        return []
    candidates: dict[tuple[str, Case | None], list[tuple[Metric, Mapping[Case, float]]]] = defaultdict(list)
    for metric, weights in _metrics_of(cases):
        for owner in {None, metric.case}:
            candidates[metric.name, owner].append((metric, weights))
    found = (
        Gated(threshold, metric.scope, weights)
        for threshold, owner in relative
        for metric, weights in candidates.get((threshold.metric, owner), ())
        if threshold.selects(metric)
    )
    return list(dict.fromkeys(found))


def _metrics_of(cases: Sequence[Case]) -> Iterator[tuple[Metric, Mapping[Case, float]]]:
    """Yield every metric that can be compared with a base's, without its value."""
    for each in sensitivities(cases):
        yield Metric(each.name, each.scope), each.weights
    for case in cases:
        yield from ((Metric(name, case), {}) for name in READINGS if name != "compile_s" or case.is_compiled)
        if case.runs_single_calls:
            yield from ((Metric(name, case), {}) for name in PERCENTILES)
    for scope, *_ in arms_compared(cases):
        yield Metric(RANKS, scope), {}


class MetricGate:
    """Compares the metrics of a run with those of one base."""

    def __init__(self, judge: Judge) -> None:
        """Start without metrics; `judge` compares the run's cases with that base."""
        self._judge = judge
        self._gated: Sequence[Gated] = ()
        self._own: dict[Case, list[Gated]] = defaultdict(list)
        self._values: dict[tuple[str, Case | Scope], float] = {}
        self._inversions: Sequence[Inversion] = ()
        self._ledger: Ledger[Gated, MetricVerdict] = Ledger(judge.rule, self._verdict)

    def expect(self, gated: Sequence[Gated]) -> None:
        """Announce the metrics to judge, and reserve their share of the run's error level."""
        self._gated = gated
        for each in gated:
            if isinstance(each.scope, Case):
                self._own[each.scope].append(each)
        self._judge.reserve(len(gated))

    @property
    def alone(self) -> set[Case]:
        """The cases that must also be launched alone."""
        return self._with_metric_in(ALONE)

    @property
    def tails(self) -> set[Case]:
        """The cases whose single calls are compared."""
        return self._with_metric_in(PERCENTILES)

    def _with_metric_in(self, names: Container[str]) -> set[Case]:
        return {case for case, own in self._own.items() if any(each.threshold.metric in names for each in own)}

    @property
    def verdicts(self) -> list[MetricVerdict]:
        """The verdicts so far."""
        return list(self._ledger.verdicts.values())

    def holds(self, case: Case) -> bool:
        """Return whether a metric of this case is to be judged."""
        return case in self._own

    def judge(self, case: Case, metrics: Metrics) -> list[MetricVerdict]:
        """Return the verdicts on a case's own metrics that follow from what was measured so far.

        Args:
            metrics: the metrics of everything measured so far.
        """
        self._observe(metrics)
        self._enter(each for each in self._own[case] if each.weights.keys() <= metrics.by_case.keys())
        return [self._ledger.verdicts[each] for each in self._own[case] if each in self._ledger.verdicts]

    def conclude(self, metrics: Metrics) -> None:
        """Give the remaining verdicts, then judge again, knowing all of them."""
        self._observe(metrics)
        self._enter([each for each in self._gated if each not in self._ledger.verdicts])
        self._ledger.settle()

    def _observe(self, metrics: Metrics) -> None:
        judged = metrics.named({"throughput", *(each.threshold.metric for each in self._gated)})
        self._values = {(each.name, each.scope): each.estimate.value for each in judged if each.estimate}
        self._inversions = metrics.inversions

    def _enter(self, ready: Iterable[Gated]) -> None:
        """Judge the metrics that the head has."""
        self._ledger.share_among(self._judge.rule.cells)
        for each in ready:
            name = "throughput" if each.threshold.metric in SPREADS else each.threshold.metric
            if (name, each.scope) in self._values:
                self._ledger.enter(each)

    def _verdict(self, of: Gated, rule: Rule) -> MetricVerdict:
        unjudged = MetricVerdict(threshold=of.threshold, scope=of.scope, name="inconclusive", against=self._judge.name)
        name = of.threshold.metric
        try:
            if name == RANKS:
                return judge_inversions(unjudged, self._inversions_of(of.scope), self._judge, rule)
            if name in SPREADS and isinstance(of.scope, Case):
                head, change = self._judge.reading(of.scope, name)
            else:
                head = self._values[name, of.scope]
                change = combine((weight, self._judge.time(case)) for case, weight in of.weights.items())
        except Uncompared as reason:
            return replace(unjudged, name=reason.name, reason=str(reason), broken=reason.broken)
        found = judge_change(unjudged, head, change, rule, self._judge.assess)
        if found.name == "inconclusive" and name in PERCENTILES:
            return replace(found, reason=f"{found.reason}; a larger --ngraph-tails times more calls")
        return found

    def _inversions_of(self, scope: Case | Scope) -> list[Inversion]:
        return [each for each in self._inversions if scope_between(*each.of_winner) == scope]
