"""Is this run slower than a stored baseline? Runs made at different times differ by chance, so each is one sample."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.gate.assessment import Assessment
from pytest_ngraph.gate.changes import Uncompared
from pytest_ngraph.gate.pooling import Pooled, Prior, pool
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.stored.stored_runs import (
    FEWEST_ROUNDS,
    Against,
    RunOf,
    StoredRuns,
    is_known,
    log_seconds,
)
from pytest_ngraph.gate.verdict import Verdict, VerdictName
from pytest_ngraph.metrics.student import t_quantile
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted

TOO_FEW = f"too few rounds to estimate their error (at least {FEWEST_ROUNDS} are needed)"
UNDECIDED = "the interval lies neither within the margin nor beyond the tolerated slowdown"
WITHIN = 3.0
"""The margin within which a case is unchanged is the tolerated one, widened by this many standard errors. Where these
are known from few runs, the interval alone takes up most of that, so that only a small difference is unchanged."""
POWER = 0.95
LARGEST = 700.0
"""Logarithms are cut off here. Larger ones, which few degrees of freedom bring about, have no finite ratio."""


class Doubt(NamedTuple):
    """What else than the code may cause a difference.

    Attributes:
        reason: in words.
        slowed: by how many times as long this run may have taken at most because of it.
        baseline_slowed: the same of the baseline's runs.
    """

    reason: str
    slowed: float = math.inf
    baseline_slowed: float = math.inf

    def explains(self, name: VerdictName, time: Pooled, rule: Rule) -> bool:
        """Return whether this may be all that a verdict shows. It is not where times alone change by more than that."""
        if name == "regressed":
            return time.p_above(rule.limit + math.log(self.slowed)) > rule.miss
        return name != "improved" or time.p_below(-rule.limit - math.log(self.baseline_slowed)) > rule.miss


def compare(case: Case, heads: RunOf, runs: StoredRuns, rule: Rule, against: str) -> Verdict:
    """Return the verdict on a case of a run against a stored baseline.

    Args:
        heads: the records of this run so far, of which the case is one.
        against: name of the baseline.
    """
    head = heads[case]
    if not runs.records(case):
        return Verdict(case=case, name="new", against=against, reason=f"{against} does not have it")
    usable = runs.usable(head)
    if not usable or not is_known(head):
        return Verdict(case=case, name="inconclusive", against=against, reason=TOO_FEW)
    why = _doubt(head, usable.values())
    return judged(case, runs.against(head, heads), why, rule, against, head.contention.pressure_percent)


def judged(
    case: Case,
    found: Against,
    doubt: Doubt | None,
    rule: Rule,
    against: str,
    pressure_percent: float | None,
) -> Verdict:
    """Return the verdict on a case that was compared with a stored baseline.

    Args:
        found: the comparison.
        doubt: what else than the code may cause a difference; None for nothing.
        against: name of the baseline.
        pressure_percent: as in `Contention`, of this run.
    """
    decisive = found.ratio or found.time
    name, margin, tail = assess_runs(decisive, rule)
    reason = _why_not(name, found, doubt, rule)
    if reason:
        name, margin, tail = "inconclusive", _widened(decisive, rule), rule.miss
    return Verdict(
        case=case,
        name=name,
        against=against,
        ratio=_ratio(decisive, tail),
        confidence=1 - 2 * tail,
        p=1.0 if reason else decisive.p_above(rule.limit),
        runs=found.runs,
        basis=found.basis,
        relative_to=IDENTITY if found.ratio else "",
        time=_ratio(found.time, tail) if found.ratio else None,
        margin=math.expm1(margin),
        pressure_percent=pressure_percent,
        detectable=math.expm1(detectable(decisive, rule)),
        reason=reason or _explanation(name, found, rule),
    )


def assess_runs(distance: Pooled, rule: Rule) -> Assessment:
    """Return whether a log ratio is slower or faster by more than the margin, beyond what runs differ by chance.

    A case is unchanged if its interval lies within a margin that is widened by that difference, on both sides, and does
    not lie beyond the margin itself.
    """
    level = rule.corrected_level
    if distance.p_above(rule.limit) <= level:
        return Assessment("regressed", rule.limit, level)
    if distance.p_below(-rule.limit) <= level:
        return Assessment("improved", rule.limit, level)
    margin = _widened(distance, rule)
    low, high = distance.low(rule.miss), distance.high(rule.miss)
    is_within = -margin < low and high < margin
    is_beyond = low > rule.limit or high < -rule.limit
    return Assessment("unchanged" if is_within and not is_beyond else "inconclusive", margin, rule.miss)


def _widened(distance: Pooled, rule: Rule) -> float:
    return rule.limit + WITHIN * distance.standard_error


def detectable(distance: Pooled, rule: Rule) -> float:
    """Return the smallest slowdown, as a log ratio, that is called regressed in 95 of 100 cases like this one."""
    quantiles = (t_quantile(tail, distance.dof) for tail in (rule.corrected_level, 1 - POWER))
    return min(LARGEST, rule.limit + sum(quantiles) * distance.standard_error)


def time_change_of_runs(head: Record, heads: RunOf, runs: StoredRuns) -> Pooled:
    """Return the logarithm of a record's seconds per iteration over those of the baseline's runs.

    Raises:
        Uncompared: there is nothing to compare it with, or the difference may not come from the code.
    """
    if not comparable_runs(head, runs) or not is_known(head):
        raise Uncompared("inconclusive", TOO_FEW)
    return runs.against(head, heads).time


def seconds_elsewhere(record: Record, prior: Prior) -> Pooled:
    """Return the logarithm of a record's seconds per iteration, with the uncertainty of another run of the same code.

    Args:
        prior: how much runs, or processes, of the same code differ.

    Raises:
        Uncompared: there are too few rounds.
    """
    if not is_known(record):
        raise Uncompared("inconclusive", TOO_FEW)
    return pool([log_seconds(record)], prior)


def comparable_runs(head: Record, runs: StoredRuns) -> list[Record]:
    """Return the records of the baseline's runs that `head` can be compared with.

    Raises:
        Uncompared: there are none, or the difference may not come from the code.
    """
    if not runs.records(head.case):
        raise Uncompared("new", "the baseline does not have it")
    usable = list(runs.usable(head).values())
    if (found := _doubt(head, usable)) is not None:
        raise Uncompared("inconclusive", found.reason)
    return usable


def _ratio(distance: Pooled, tail: float) -> Estimate:
    return Estimate(*(math.exp(min(LARGEST, log)) for log in (distance.mean, distance.low(tail), distance.high(tail))))


def _why_not(name: VerdictName, found: Against, doubt: Doubt | None, rule: Rule) -> str:
    """Return why a verdict does not hold; empty if it does."""
    if doubt is not None and doubt.explains(name, found.time, rule):
        return doubt.reason
    return _contradiction(name, found, rule)


def _contradiction(name: VerdictName, found: Against, rule: Rule) -> str:
    """Return why a verdict that the ratio gives does not hold, because only identity changed; empty if it holds."""
    time, identity = found.time, found.identity
    if identity is None:
        return ""
    if name == "regressed" and time.mean < rule.limit and identity.p_below(0) <= rule.miss:
        return "slower relative to identity only because identity, the same code, ran faster than runs usually differ"
    if name == "improved" and time.mean > -rule.limit and identity.p_above(0) <= rule.miss:
        return "faster relative to identity only because identity, the same code, ran slower than runs usually differ"
    return ""


def _explanation(name: VerdictName, found: Against, rule: Rule) -> str:
    if name == "inconclusive":
        return UNDECIDED
    by_time = assess_runs(found.time, rule).name if found.ratio else name
    if name != "regressed" and by_time == "regressed":
        return "the machine is slower: identity, the same code, took longer as well"
    return ""


def _doubt(head: Record, runs: Collection[Record]) -> Doubt | None:
    slowed, *of_runs = (each.contention.most_slowed for each in (head, *runs))
    return doubt(head.threads, slowed, {run.threads for run in runs}, max(of_runs, default=1.0))


def doubt(
    threads: int | None,
    slowed: float,
    baseline_threads: Collection[int | None],
    baseline_slowed: float,
) -> Doubt | None:
    """Return what else than the code may cause a difference; None where there is nothing.

    Args:
        threads: cores that the head was measured on.
        slowed: by how many times as long it may have taken at most because of other work on them.
        baseline_threads, baseline_slowed: the same of the baseline's runs.
    """
    others = set(baseline_threads) - {threads, None}
    if threads and others:
        numbers = " or ".join(map(str, sorted(filter(None, others))))
        return Doubt(f"measured on {counted(threads, 'core')}, and on {numbers} in the baseline's runs")
    if max(slowed, baseline_slowed) <= 1:
        return None
    when = "this run" if slowed > 1 else "the baseline's runs"
    return Doubt(f"the machine was busy during {when}", slowed, baseline_slowed)
