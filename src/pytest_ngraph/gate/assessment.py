"""Whether a metric is worse than the base's, by its log ratio."""

from __future__ import annotations

from typing import NamedTuple

from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import VerdictName


class Assessment(NamedTuple):
    """The verdict that a log ratio gives.

    Attributes:
        margin: the tolerated margin, as widened.
        tail: the tail that the interval shown with the verdict excludes at either end.
    """

    name: VerdictName
    margin: float
    tail: float


def assess_launches(worse: Pooled, rule: Rule) -> Assessment:
    """Return whether a metric is worse or better by more than the margin, beyond the uncertainty.

    It is unchanged if it is surely not worse by more than the margin.
    """
    level = rule.corrected_level
    if worse.p_above(rule.limit) <= level:
        return Assessment("regressed", rule.limit, level)
    if worse.p_below(-rule.limit) <= level:
        return Assessment("improved", rule.limit, level)
    if worse.high(rule.miss) < rule.limit:
        return Assessment("unchanged", rule.limit, rule.miss)
    return Assessment("inconclusive", rule.limit, level)
