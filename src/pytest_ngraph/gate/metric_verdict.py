"""The verdict on a metric compared with the base's, as data and in one line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pytest_ngraph.case import Case
from pytest_ngraph.gate.assessment import Assessment
from pytest_ngraph.gate.in_words import in_percent, tenths
from pytest_ngraph.gate.pooling import Pooled, combine
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.thresholds import Threshold
from pytest_ngraph.gate.verdict import SAME, VerdictName
from pytest_ngraph.metrics import DEFINITIONS, Scope
from pytest_ngraph.metrics.text import number, quantity
from pytest_ngraph.stats import Estimate

Assess = Callable[[Pooled, Rule], Assessment]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricVerdict:
    """The gate's verdict on a metric.

    Attributes:
        scope: the case, or the group of cases, that the metric belongs to.
        against: name of the base.
        head: the head's value.
        base: the base's value.
        change: head over base, or head minus base if the threshold is a difference, with its interval; None if unknown.
        confidence: of that interval.
        p: one-sided p-value of "no worse than is tolerated".
        reason: why it is inconclusive or new, or what was found instead of a change.
        broken: as in `Verdict`.
    """

    threshold: Threshold
    scope: Case | Scope
    name: VerdictName
    against: str = ""
    head: float | None = None
    base: float | None = None
    change: Estimate | None = None
    confidence: float | None = None
    p: float = 1.0
    reason: str = ""
    broken: bool = False

    @property
    def case(self) -> Case | None:
        """The case that fails if this is regressed; None where the metric concerns several cases."""
        return self.scope if isinstance(self.scope, Case) else None

    @property
    def subject(self) -> tuple[str, str]:
        """What the verdict is on: the threshold with the metric's scope, and the base."""
        return f"{self.threshold} {self.scope.id}", self.against

    @property
    def text(self) -> str:
        """The verdict in one line: `bsr:5% regressed: swin-openvino-b8-cpu has bsr 0.810, main at 1a2b3c4 0.900:
        -10.0 % (99.9 % interval -13.2 to -6.8 %)`."""
        about = f"{self.threshold} {self.name}: {self.scope.id}"
        if self.head is None or self.base is None:
            return f"{about}: {self.reason}"
        name, against = self.threshold.metric, self.against or "the base"
        values = f"has {name} {self.shown(self.head)}, {against} {self.shown(self.base)}"
        return f"{about} {values}: {'; '.join(filter(None, [self.interval, self.reason]))}"

    def shown(self, value: float) -> str:
        """Return a value of the metric with its unit."""
        return quantity(value, DEFINITIONS[self.threshold.metric].unit)

    @property
    def interval(self) -> str:
        """The change with its interval, in words; empty where it is not known."""
        if self.change is None or self.confidence is None:
            return ""
        in_words, unit = self._change_in_words()
        value, low, high = map(in_words, self.change)
        return f"{value}{unit} ({in_percent(self.confidence)} % interval {low} to {high}{unit})"

    @property
    def details(self) -> dict[str, str]:
        """As in `Verdict`; a metric's verdict has none."""
        return {}

    def _change_in_words(self) -> tuple[Callable[[float], str], str]:
        if DEFINITIONS[self.threshold.metric].change == "difference":
            return lambda value: f"{'+' if value > 0 else ''}{number(value)}", ""
        return lambda ratio: f"{'+' if ratio > 1 else ''}{tenths(100 * (ratio - 1))}", " %"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready data."""
        return {
            "threshold": str(self.threshold),
            "metric": self.threshold.metric,
            "id": self.scope.id,
            "case": self.case.to_dict() if self.case else None,
            "name": self.name,
            "against": self.against,
            "head": self.head,
            "base": self.base,
            "change": self.change._asdict() if self.change else None,
            "confidence": self.confidence,
            "p": self.p,
            "reason": self.reason,
            "broken": self.broken,
        }


def tolerated(threshold: Threshold) -> float:
    """Return how much worse a relative threshold lets a metric get: as a logarithm, or as a difference."""
    definition = DEFINITIONS[threshold.metric]
    if definition.change == "difference":
        return threshold.bound
    return math.log1p(threshold.bound) if definition.better == "lower" else -math.log1p(-threshold.bound)


def judge_change(verdict: MetricVerdict, head: float, change: Pooled, rule: Rule, assess: Assess) -> MetricVerdict:
    """Return the verdict on a metric that changed.

    Args:
        verdict: a verdict on the same metric, still undecided; the result is a copy of it.
        head: the head's value.
        change: the logarithm of head over base, or head minus base for a metric with a difference.
        assess: returns the assessment of how much worse the metric got.
    """
    definition = DEFINITIONS[verdict.threshold.metric]
    is_difference = definition.change == "difference"
    base = head - change.mean if is_difference else head * math.exp(-change.mean)
    if not change.standard_error:
        unchanged = Estimate.exactly(0.0 if is_difference else 1.0)
        return replace(verdict, name="unchanged", head=head, base=head, change=unchanged, reason=SAME)
    worse = combine([(1.0 if definition.better == "lower" else -1.0, change)])
    rule = replace(rule, margin=math.expm1(tolerated(verdict.threshold)))
    name, margin, tail = assess(worse, rule)
    found = Estimate(change.mean, change.low(tail), change.high(tail))
    return replace(
        verdict,
        name=name,
        head=head,
        base=base,
        change=found if is_difference else Estimate(*map(math.exp, found)),
        confidence=1 - 2 * tail,
        p=worse.p_above(rule.limit),
        reason=_reason(name, verdict.threshold, margin if margin > rule.limit else None),
    )


def _reason(name: VerdictName, threshold: Threshold, widened: float | None) -> str:
    """Return the reason in words; `widened` is the tolerated loss, as of `tolerated`, if it exceeds the threshold's."""
    reasons = ["neither surely within the tolerated limit nor surely beyond it"] if name == "inconclusive" else []
    if widened is not None:
        definition = DEFINITIONS[threshold.metric]
        share = math.expm1(widened) if definition.better == "lower" else -math.expm1(-widened)
        shown = number(widened) if definition.change == "difference" else f"{tenths(100 * share)} %"
        reasons.append(f"the tolerated limit was widened to {shown}")
    return "; ".join(reasons)
