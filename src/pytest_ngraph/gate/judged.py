"""How a verdict is called, where what changed is known as one log ratio."""

from __future__ import annotations

from typing import NamedTuple

from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import VerdictName


class Judged(NamedTuple):
    """What a log ratio says. margin: the one that is tolerated, however widened. tail: what the interval that shows why
    leaves out at either end."""

    name: VerdictName
    margin: float
    tail: float


def decide_worse(worse: Pooled, rule: Rule) -> Judged:
    """Worse or better by more than the margin, beyond the uncertainty. Unchanged is what is surely not worse by it."""
    level = rule.corrected_level
    if worse.p_above(rule.limit) <= level:
        return Judged("regressed", rule.limit, level)
    if worse.p_below(-rule.limit) <= level:
        return Judged("improved", rule.limit, level)
    if worse.high(rule.miss) < rule.limit:
        return Judged("unchanged", rule.limit, rule.miss)
    return Judged("inconclusive", rule.limit, level)
