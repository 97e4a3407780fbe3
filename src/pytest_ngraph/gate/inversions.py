"""Rank inversions of the head: did the base have them as well?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import Changes, Uncompared
from pytest_ngraph.gate.metric_verdict import MetricVerdict
from pytest_ngraph.gate.pooling import Pooled, combine
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.metrics import Inversion
from pytest_ngraph.metrics.text import number
from pytest_ngraph.wording import counted


class AtBase(NamedTuple):
    """What is known of a head's inversion at the base.

    Attributes:
        before: logarithm of the winner's throughput over the loser's at the base, under the reference.
        after: the same under the other arm.
        same: whether none of its cases changed, so that the base has the inversion if the head has it.
    """

    before: Pooled
    after: Pooled
    same: bool = False

    @property
    def p_inverted(self) -> float:
        """p-value of "the base has an inversion": small where both orders surely agree."""
        if self.same:
            return 1.0
        return _p(
            max(self.before.p_above(0), self.after.p_above(0)), max(self.before.p_below(0), self.after.p_below(0))
        )

    @property
    def p_not_inverted(self) -> float:
        """p-value of "the base has no inversion": small where the orders surely differ."""
        if self.same:
            return 0.0
        return _p(
            max(self.before.p_above(0), self.after.p_below(0)), max(self.before.p_below(0), self.after.p_above(0))
        )


def judge_inversions(verdict: MetricVerdict, found: Sequence[Inversion], changes: Changes, rule: Rule) -> MetricVerdict:
    """Return the verdict on the head's inversions between two arms: regressed if one of them is surely new.

    The inversions share this verdict's part of the level.

    Args:
        verdict: a verdict on the same metric, still undecided; the result is a copy of it with name and reason.
    """
    known: list[tuple[Inversion, AtBase]] = []
    undecided = 0
    for inversion in found:
        try:
            known.append((inversion, at_base(inversion, changes)))
        except Uncompared as reason:
            undecided += reason.name != "new"  # an inversion of cases that the base lacks is no change
    p = min([1.0, *(len(known) * base.p_inverted for _, base in known)])
    new = [each for each in known if len(known) * each[1].p_inverted <= rule.corrected_level]
    if new:
        listing = "; ".join(_in_words(*each) for each in new)
        return replace(verdict, name="regressed", p=p, reason=f"{counted(len(new), 'new inversion')}: {listing}")
    undecided += sum(base.p_not_inverted > rule.miss for _, base in known)
    count = counted(len(found), "inversion")
    if undecided:
        return replace(verdict, p=p, reason=f"{count}; it is unknown for {undecided} whether the base has it")
    return replace(verdict, name="unchanged", p=p, reason=f"{count}, none of them new")


def at_base(inversion: Inversion, changes: Changes) -> AtBase:
    """Return the inversion's orders at the base: the head's times minus their changes.

    Raises:
        Uncompared: a case of the inversion was not compared.
    """
    arms = list(zip(inversion.of_winner, inversion.of_loser, strict=True))
    changed = {case: changes.time(case) for arm in arms for case in arm}

    def order(winner: Case, loser: Case) -> Pooled:
        terms = [(-1.0, changes.seconds(winner)), (1.0, changed[winner])]
        return combine([*terms, (1.0, changes.seconds(loser)), (-1.0, changed[loser])])

    before, after = (order(*arm) for arm in arms)
    return AtBase(before, after, same=not any(each.standard_error for each in changed.values()))


def _p(one: float, other: float) -> float:
    """Return the p-value of two hypotheses together, either of which suffices (Bonferroni)."""
    return min(1.0, 2 * min(one, other))


def _in_words(inversion: Inversion, base: AtBase) -> str:
    winner, loser = inversion.winner, inversion.loser
    then = " and ".join(f"× {number(math.exp(order.mean))}" for order in (base.before, base.after))
    return (
        f"{winner.group_label} beats {loser.group_label} under {winner.compiler} (× {number(inversion.before.value)}) "
        f"but loses under {inversion.compiler} (× {number(inversion.after.value)}); at the base, {then}"
    )
