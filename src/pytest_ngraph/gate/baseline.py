"""Is this run slower than a stored baseline? Runs made at different times differ by chance, so each is one sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import is_contended
from pytest_ngraph.gate.changes import Uncompared
from pytest_ngraph.gate.launches import DRAWS, Effect
from pytest_ngraph.gate.pooling import Pooled, Prior, departure, pool
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Assessment, Verdict
from pytest_ngraph.metrics.between import RUN
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate, bootstrap_medians
from pytest_ngraph.student import t_quantile
from pytest_ngraph.wording import counted

BETWEEN_RUNS = Prior(*RUN)
"""How much runs of the same code at different times differ, each in its own processes: 3 % on a quiet machine, more on
others. It has few degrees of freedom, so that the runs of a baseline outweigh it once there are several."""
FEWEST_ROUNDS = 2
"""A single round gives no estimate of its error."""
TOO_FEW = f"too few rounds to estimate their error (at least {FEWEST_ROUNDS} are needed)"
POWER = 0.95


def compare(case: Case, head: Record, baseline: Sequence[Record], rule: Rule, against: str) -> Verdict:
    """Return the verdict on a record against a stored baseline.

    Runs during which the machine was busy are used only where there are no others.

    Args:
        baseline: records of the equal case in the baseline's runs; empty where it does not have the case.
        against: name of the baseline.
    """
    if not baseline:
        return Verdict(case=case, name="new", against=against, reason=f"{against} does not have it")
    runs = _usable(head, baseline)
    if not runs or len(head.rounds) < FEWEST_ROUNDS:
        return Verdict(case=case, name="inconclusive", against=against, reason=TOO_FEW)
    distance = _distance(head, runs)
    name, margin, tail = decide(distance, rule)
    doubt = _doubt(head, runs)
    undecided = "slower by more than runs usually differ, but too little to be sure" if name == "inconclusive" else ""
    return Verdict(
        case=case,
        name="inconclusive" if doubt else name,
        against=against,
        ratio=Estimate(math.exp(distance.mean), math.exp(distance.low(tail)), math.exp(distance.high(tail))),
        confidence=1 - 2 * tail,
        p=1.0 if doubt else distance.p_above(rule.limit),
        runs=len(runs),
        margin=math.expm1(margin),
        pressure_percent=head.contention.pressure_percent,
        detectable=math.expm1(margin + t_quantile(1 - POWER, distance.dof) * distance.standard_error),
        reason=doubt or undecided,
    )


def time_change(head: Record, baseline: Sequence[Record]) -> Pooled:
    """Return the logarithm of a record's seconds per iteration over those of the baseline's runs.

    Raises:
        Uncompared: there is nothing to compare it with, or the difference may not come from the code.
    """
    runs = comparable_runs(head, baseline)
    if not runs or len(head.rounds) < FEWEST_ROUNDS:
        raise Uncompared("inconclusive", TOO_FEW)
    return _distance(head, runs)


def seconds_elsewhere(record: Record, prior: Prior) -> Pooled:
    """Return the logarithm of a record's seconds per iteration, with the uncertainty of another run of the same code.

    Args:
        prior: how much runs, or processes, of the same code differ.

    Raises:
        Uncompared: there are too few rounds.
    """
    if len(record.rounds) < FEWEST_ROUNDS:
        raise Uncompared("inconclusive", TOO_FEW)
    return pool([log_seconds(record)], prior)


def comparable_runs(head: Record, baseline: Sequence[Record]) -> list[Record]:
    """Return the records of the baseline's runs that `head` can be compared with.

    Raises:
        Uncompared: there are none, or the difference may not come from the code.
    """
    if not baseline:
        raise Uncompared("new", "the baseline does not have it")
    runs = _usable(head, baseline)
    doubt = _doubt(head, runs)
    if doubt:
        raise Uncompared("inconclusive", doubt)
    return runs


def _usable(head: Record, baseline: Sequence[Record]) -> list[Record]:
    """Return the records with enough rounds; of these, where there are any, the undisturbed ones on as many cores."""
    known = [record for record in baseline if len(record.rounds) >= FEWEST_ROUNDS]
    alike = [record for record in known if record.threads == head.threads] or known
    return [record for record in alike if not is_busy(record)] or alike


def log_seconds(record: Record) -> Effect:
    """Return the logarithm of a record's median seconds per iteration, with its standard error within the run.

    The record needs `FEWEST_ROUNDS` or more.
    """
    count = len(record.rounds)
    medians = np.log(bootstrap_medians(record.samples, seed=count, draws=DRAWS))
    # Draws scatter around the sample's mean, not the true one: their variance is too small by a factor (n - 1) / n.
    return Effect(math.log(record.latency_s), float(np.std(medians) * math.sqrt(count / (count - 1))))


def is_busy(record: Record) -> bool:
    """Return whether the kernel reported other work on the cores while the record was made."""
    return is_contended(record.contention.pressure_percent, record.contention.steal_percent)


def decide(distance: Pooled, rule: Rule) -> Assessment:
    """Return whether a log ratio is slower or faster by more than the margin, beyond what runs differ by chance.

    The margin is widened by that difference. A case is unchanged if it is surely not slower by more than the widened
    margin, and is not surely slower by more than the margin itself.
    """
    level = rule.corrected_level
    margin = rule.limit + t_quantile(level, distance.dof) * distance.standard_error
    if distance.p_above(rule.limit) <= level:
        return Assessment("regressed", margin, level)
    if distance.p_below(-rule.limit) <= level:
        return Assessment("improved", margin, level)
    if distance.high(rule.miss) < margin and distance.low(rule.miss) < rule.limit:
        return Assessment("unchanged", margin, rule.miss)
    return Assessment("inconclusive", margin, rule.miss)


def _distance(head: Record, runs: Sequence[Record]) -> Pooled:
    return departure(log_seconds(head), [log_seconds(record) for record in runs], BETWEEN_RUNS)


def _doubt(head: Record, runs: Sequence[Record]) -> str:
    """Return what else than the code may cause a difference; empty when there is nothing."""
    others = {run.threads for run in runs} - {head.threads, None}
    if head.threads and others:
        numbers = " or ".join(map(str, sorted(filter(None, others))))
        return f"measured on {counted(head.threads, 'core')}, and on {numbers} in the baseline's runs"
    if is_busy(head):
        return "the machine was busy during this run"
    return "the machine was busy during the baseline's runs" if any(map(is_busy, runs)) else ""
