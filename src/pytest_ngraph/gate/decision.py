"""Is head slower than base? Decided as launches come in, so that no more are taken than the decision needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pytest_ngraph.comparison import Comparison, Launch, Placement
from pytest_ngraph.gate.launches import effects
from pytest_ngraph.gate.pooling import Pooled, pool
from pytest_ngraph.gate.rule import LOOKS, Look, Rule, is_spent

Decision = Literal["regressed", "improved", "unchanged", "undecided"]


class Finding(NamedTuple):
    """The strongest evidence of all looks.

    Attributes:
        p: one-sided p-value, corrected for the number of looks.
    """

    p: float
    pooled: Pooled
    look: Look


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the launches of one cell show.

    Attributes:
        everything: all launches, pooled.
        fresh: the launches in processes of their own, pooled; None without any.
        seen: the looks that were due, each with its fresh launches pooled.
        complete: whether no more launches may be taken; the last look then uses all of them.
    """

    rule: Rule
    everything: Pooled
    fresh: Pooled | None
    seen: tuple[tuple[Look, Pooled], ...]
    complete: bool

    @property
    def confirmed(self) -> Pooled:
        """The fresh launches, as of the last look if there was one; the screen, for a cell without fresh launches.

        A screen that led to fresh launches is not used: it did so because it saw a difference, so it exaggerates it.
        """
        return self.seen[-1][1] if self.seen else self.fresh or self.everything

    @property
    def slower(self) -> Finding | None:
        """Evidence that head is slower by more than the margin; None before the first look."""
        return self._strongest(lambda pooled: pooled.p_above(self.rule.limit))

    @property
    def faster(self) -> Finding | None:
        """Evidence that base is slower by more than the margin; None before the first look."""
        return self._strongest(lambda pooled: pooled.p_below(-self.rule.limit))

    @property
    def decision(self) -> Decision:
        """The decision if no more launches come."""
        if self._suffices(self.slower):
            return "regressed"
        if self._suffices(self.faster):
            return "improved"
        return "unchanged" if self._is_within else "undecided"

    @property
    def interim(self) -> Decision:
        """The decision while more launches may come: a cell that looks improved gets another launch."""
        looks_improved = self.everything.mean < -self.rule.limit
        if self.decision == "unchanged" and looks_improved and not self.complete:
            return "undecided"
        return self.decision

    @property
    def _is_within(self) -> bool:
        """Whether head is surely not slower by more than the margin; two-sided, whether it is not faster either."""
        everything, miss, limit = self.everything, self.rule.miss, self.rule.limit
        return everything.high(miss) < limit and (not self.rule.two_sided or everything.low(miss) > -limit)

    def _strongest(self, p_value: Callable[[Pooled], float]) -> Finding | None:
        findings = [Finding(min(1.0, p_value(pooled) / look.share), pooled, look) for look, pooled in self.seen]
        return min(findings, key=lambda finding: finding.p, default=None)

    def _suffices(self, finding: Finding | None) -> bool:
        return finding is not None and finding.p <= self.rule.corrected_level


def weigh(launches: Sequence[Launch], rule: Rule, placement: Placement) -> Evidence | None:
    """Return what the launches show; None if none of them has a usable effect.

    Only fresh launches can show a regression: the others share a process with what ran there before. Stopping at the
    first decision keeps the error level: each p-value is divided by its look's share of the level (Bonferroni), and
    stopping for "unchanged" can only lower the number of regressions called.
    """
    everything = effects(launches)
    if not everything:
        return None
    prior = rule.priors[placement]
    fresh = effects(launch for launch in launches if launch.fresh)
    complete = is_spent(launches, rule)
    looks = rule.looks_due(len(fresh), last=complete)
    seen = tuple((look, pool(fresh[: look.launches], prior)) for look in looks)
    return Evidence(rule, pool(everything, prior), pool(fresh, prior) if fresh else None, seen, complete)


def decide(launches: Sequence[Launch], rule: Rule, placement: Placement = "together") -> Decision:
    """Return the decision so far."""
    evidence = weigh(launches, rule, placement)
    return evidence.interim if evidence else "undecided"


def is_regressed(comparison: Comparison, rule: Rule) -> bool:
    """Return whether the launches so far show that head is slower by more than the margin."""
    return decide(comparison.launches, rule.applied_to(comparison), comparison.placement) == "regressed"


def is_enough(comparison: Comparison, rule: Rule) -> bool:
    """Return whether the cell is decided, or no further launch may be taken."""
    launches = comparison.launches
    if lacks_searches(comparison):
        return False
    decision = decide(launches, rule.applied_to(comparison), comparison.placement)
    return is_spent(launches, rule) or decision != "undecided"


@dataclass(frozen=True, slots=True)
class ByRule:
    """Decides comparisons by a rule that stays what it is."""

    rule: Rule

    def is_decided(self, comparison: Comparison) -> bool:
        """Return whether the case is decided, or no further launch may be taken."""
        return is_enough(comparison, self.rule)

    def is_regressed(self, comparison: Comparison) -> bool:
        """Return whether the launches so far show a regression."""
        return is_regressed(comparison, self.rule)


def lacks_searches(comparison: Comparison) -> bool:
    """Return whether the compiler searches, and too few launches have compiled for themselves to decide anything.

    The first launch has one draw of each arm, and the next may differ.
    """
    return comparison.searched and sum(launch.fresh for launch in comparison.launches) < LOOKS[0]


def drawn(comparison: Comparison) -> Sequence[Launch]:
    """Return the launches that show what others would: where the compiler searches, those that compiled by themselves.

    The first one may have found its searches in the cache, where later runs find the same.
    """
    return [each for each in comparison.launches if each.fresh or not comparison.searched]
