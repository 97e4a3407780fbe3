"""Compare metrics with thresholds. It is a breach only if the whole interval lies on the breaching side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import READINGS
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.metrics import Metric, Metrics
from pytest_ngraph.metrics.text import in_words
from pytest_ngraph.stats import Estimate

Outcome = Literal["breached", "undecided", "kept", "absent", "unmatched"]
"""breached: the whole interval breaches. undecided: the value breaches, but its interval reaches the other side.
kept: the value does not breach. absent: there is no value. unmatched: the threshold selects no metric."""


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


def check(thresholds: Sequence[Threshold], metrics: Metrics) -> list[Check]:
    """Compare each threshold with every metric that it selects, in the order of the thresholds.

    Relative thresholds appear only where they match nothing or the metric is absent; `MetricGate` judges the others.
    Metrics whose value follows from their definition (identity's speedup, its compile time, the scaling at batch size
    1) are skipped.
    """
    by_name: dict[str, list[Metric]] = defaultdict(list)
    for metric in metrics if thresholds else ():
        if not metric.by_definition:
            by_name[metric.name].append(metric)
    return [one for threshold in thresholds for one in _checks(threshold, by_name)]


def outcome(threshold: Threshold, estimate: Estimate) -> Outcome:
    """Return the outcome of comparing an estimate with a threshold."""
    if not threshold.breaches(estimate.value):
        return "kept"
    nearest = estimate.high if threshold.op.startswith("<") else estimate.low
    return "breached" if threshold.breaches(nearest) else "undecided"


def _checks(threshold: Threshold, by_name: Mapping[str, Iterable[Metric]]) -> Iterator[Check]:
    selected = [metric for metric in by_name.get(threshold.metric, ()) if threshold.selects(metric)]
    if not selected:
        yield Check(threshold, None, "unmatched", f"{threshold} matches nothing that this run measured")
    for metric in selected:
        if threshold.is_relative and (metric.estimate or metric.name in READINGS):
            continue  # `MetricGate` gives a verdict on it
        found = "absent" if metric.estimate is None else outcome(threshold, metric.estimate)
        yield Check(threshold, metric, found, _text(threshold, metric, found))


def _text(threshold: Threshold, metric: Metric, found: Outcome) -> str:
    if found == "absent":
        return f"{threshold} absent: {metric.scope.id} has no {metric.name}: {metric.absent}"
    text = f"{threshold} {found}: {metric.scope.id} has {metric.name} {in_words(metric)}"
    return f"{text}, whose interval includes the limit" if found == "undecided" else text
