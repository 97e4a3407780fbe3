"""Compare metrics with thresholds. It is a breach only if other processes would surely show it, too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ngraph.case import IDENTITY, SERVING, Case
from pytest_ngraph.costs import COSTS
from pytest_ngraph.gate import unmatched
from pytest_ngraph.gate.changes import SPREADS
from pytest_ngraph.gate.limits import Evidence, Limits
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.metrics import Metric, Metrics
from pytest_ngraph.metrics.between import TAIL
from pytest_ngraph.metrics.load import MAX_RATE, NOT_UNDER_LOAD
from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.metrics.sensitivity import sensitivities
from pytest_ngraph.metrics.text import in_words

Outcome = Literal["breached", "undecided", "kept", "absent", "unmatched"]
"""breached: the true value surely breaches, or the model failed under load. undecided: the value breaches, but the
true one may not. kept: the value does not breach. absent: there is no value. unmatched: the threshold selects no
metric."""
OF_IDENTITY = ("speedup", "bsr", "break_even", "compile_s", "cpu_reduction")
"""Metrics that follow from their definition under identity."""
OF_SINGLE = ("rtr", "ase", "bsr")
"""Metrics that do so at batch size 1."""
Pair = tuple[Threshold, Metric]


@dataclass(frozen=True, slots=True)
class Check:
    """One metric compared with one threshold.

    Attributes:
        metric: None where the threshold matches no metric.
        text: the outcome in one line.
    """

    threshold: Threshold
    metric: Metric | None
    outcome: Outcome
    text: str

    @property
    def case(self) -> Case | None:
        """The case that fails when this is breached; None where it concerns several."""
        return self.metric.case if self.metric else None


def check(
    thresholds: Sequence[Threshold], metrics: Metrics, *, case: Case | None = None, limits: int = 0
) -> list[Check]:
    """Compare each threshold with every metric that it selects, in the order of the thresholds.

    Relative thresholds appear only where they match nothing or the metric is absent; `MetricGate` judges the others.
    Metrics whose value follows from their definition (identity's speedup, its compile time, the scaling at batch size
    1) are skipped.

    The chance that any of the run's comparisons is falsely called a breach is 2.5 %, the tail of a 95 % interval: it is
    shared among them after Holm (1979).

    Args:
        case: compares only this case's metrics; the others are those that they follow from.
        limits: number of comparisons of the whole run, if there are more than these.
    """
    by_name: dict[str, list[Metric]] = defaultdict(list)
    checked = metrics if case is None else Metrics({case: metrics.by_case.get(case, {})})
    for metric in checked.named({threshold.metric for threshold in thresholds}):
        if not metric.by_definition:
            by_name[metric.name].append(metric)
    selected = {threshold: _selected(threshold, by_name) for threshold in thresholds}
    pairs = [
        (threshold, metric) for threshold, own in selected.items() for metric in own if _is_limited(threshold, metric)
    ]
    family = max(limits, len(pairs))
    evidence = _evidence([(t, m) for t, m in pairs if m.estimate and t.breaches(m.estimate.value)], metrics)
    breached = _rejected(evidence, family)
    return [
        one
        for threshold in thresholds
        for one in _checks(threshold, selected[threshold], by_name[threshold.metric], evidence, breached, family)
    ]


def count_limits(thresholds: Iterable[tuple[Threshold, Case | None]], cases: Sequence[Case]) -> int:
    """Return how many comparisons with limits a run of these cases makes, if all of its metrics are there.

    What follows from its definition is not compared, and a case that several tests have is compared once.

    Args:
        thresholds: each with the case that it belongs to; None where it applies to the whole run.
    """
    unique = list(dict.fromkeys(cases))
    wider = [Metric(each.name, each.scope) for each in sensitivities(unique) if not isinstance(each.scope, Case)]
    absolute = [(threshold, owner) for threshold, owner in thresholds if not threshold.is_relative]
    return sum(
        threshold.selects(metric)
        for threshold, owner in absolute
        for metric in (
            [
                Metric(threshold.metric, case)
                for case in (unique if owner is None else [owner])
                if not is_by_definition(threshold.metric, case)
            ]
            if threshold.is_of_cases
            else wider
        )
    )


def is_of_identity(metric: str, case: Case) -> bool:
    """Return whether a metric of this case follows from its definition, because the case is eager PyTorch."""
    return metric in OF_IDENTITY and case.compiler == IDENTITY


def is_by_definition(metric: str, case: Case) -> bool:
    """Return whether a metric of this case follows from its definition, so that no limit is compared with it."""
    return (
        is_of_identity(metric, case)
        or (metric in OF_SINGLE and case.batch_size == 1)
        or (metric in PERCENTILES and not case.runs_single_calls)
        or (metric == MAX_RATE and case.objective != SERVING)
    )


def need_calls(thresholds: Iterable[tuple[Threshold, Case | None]], cases: Sequence[Case]) -> set[Case]:
    """Return the cases whose single calls a threshold needs; the arguments are those of `count_limits`."""
    return _needing(PERCENTILES, thresholds, cases)


def need_costs(thresholds: Iterable[tuple[Threshold, Case | None]], cases: Sequence[Case]) -> set[Case]:
    """Return the cases whose serving costs a threshold needs; the arguments are those of `count_limits`."""
    return _needing(COSTS, thresholds, cases)


def _needing(
    metrics: Container[str], thresholds: Iterable[tuple[Threshold, Case | None]], cases: Sequence[Case]
) -> set[Case]:
    return {
        case
        for threshold, owner in thresholds
        if threshold.metric in metrics
        for case in (cases if owner is None else [owner])
        if threshold.selects(Metric(threshold.metric, case))
    }


def _selected(threshold: Threshold, by_name: Mapping[str, Iterable[Metric]]) -> list[Metric]:
    return [metric for metric in by_name.get(threshold.metric, ()) if threshold.selects(metric)]


def _is_limited(threshold: Threshold, metric: Metric) -> bool:
    """Return whether a metric is compared with a limit here."""
    return not threshold.is_relative and metric.estimate is not None and not metric.failed


def _evidence(pairs: Sequence[Pair], metrics: Metrics) -> dict[Pair, Evidence]:
    """Return what is known of each metric that is beyond a limit."""
    limits = Limits(metrics) if pairs else None
    return {(t, m): limits.evidence(m, t.bound) for t, m in pairs} if limits else {}


def _rejected(evidence: Mapping[Pair, Evidence], family: int) -> set[Pair]:
    """Return the pairs that are surely beyond, by Holm's procedure over a family of this size."""
    rejected: set[Pair] = set()
    for pair, found in sorted(evidence.items(), key=lambda item: item[1].p):
        if found.p > TAIL / (family - len(rejected)):
            break
        rejected.add(pair)
    return rejected


def _checks(
    threshold: Threshold,
    selected: Sequence[Metric],
    measured: Sequence[Metric],
    evidence: Mapping[Pair, Evidence],
    breached: Collection[Pair],
    family: int,
) -> Iterator[Check]:
    if not selected:
        is_idle = threshold.metric == MAX_RATE and not measured
        why = NOT_UNDER_LOAD if is_idle else unmatched.reason(threshold, measured)
        text = f"{threshold} matches nothing that this run measured" + (f": {why}" if why else "")
        yield Check(threshold, None, "unmatched", text)
    for metric in selected:
        if threshold.is_relative and (metric.estimate or metric.name in SPREADS):
            continue  # `MetricGate` gives a verdict on it
        pair = threshold, metric
        if metric.failed:
            found: Outcome = "breached"
        elif metric.estimate is None:
            found = "absent"
        elif pair in evidence:
            found = "breached" if pair in breached else "undecided"
        else:
            found = "kept"
        yield Check(threshold, metric, found, _text(threshold, metric, found, evidence.get(pair), family))


def _text(threshold: Threshold, metric: Metric, found: Outcome, evidence: Evidence | None, family: int) -> str:
    if metric.failed:
        return f"{threshold} {found}: {metric.scope.id} failed under load: {metric.failed}"
    if found == "absent":
        return f"{threshold} absent: {metric.scope.id} has no {metric.name}: {metric.absent}"
    shown = evidence.in_words(metric) if evidence else in_words(metric)
    text = f"{threshold} {found}: {metric.scope.id} has {metric.name} {shown}"
    if found != "undecided" or evidence is None:
        return text
    if evidence.p > TAIL:
        return f"{text}, whose interval includes the limit"
    return f"{text}, which is not sure enough for one of {family} limits"
