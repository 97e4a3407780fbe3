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
from pytest_ngraph.gate.student import t_quantile
from pytest_ngraph.gate.verdict import Assessment, Verdict
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate, bootstrap_medians
from pytest_ngraph.wording import counted

BETWEEN_RUNS = Prior(0.03, 3)
"""Runs of the same code at different times, each with processes of its own: 3 % on a quiet machine, more on others. It
is worth few degrees of freedom, so that a baseline of several runs speaks for itself."""
FEWEST_ROUNDS = 2
"""One says nothing of how wrong it is."""
TOO_FEW = "too few rounds to tell how wrong they are"
POWER = 0.95


def compare(case: Case, head: Record, baseline: Sequence[Record], rule: Rule, against: str) -> Verdict:
    """The verdict on a record. baseline: those of the equal case in the baseline's runs; none where it has none.

    Runs during which the machine was busy are used only where there are no others.
    """
    if not baseline:
        return Verdict(case=case, name="new", against=against, reason=f"{against} does not have it")
    runs = _usable(head, baseline)
    if not runs or len(head.rounds) < FEWEST_ROUNDS:
        return Verdict(case=case, name="inconclusive", against=against, reason=TOO_FEW)
    distance = _distance(head, runs)
    name, margin, tail = decide(distance, rule)
    doubt = _doubt(head, runs)
    undecided = "more than runs usually differ, and too little to be sure" if name == "inconclusive" else ""
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
    """The logarithm of a record's seconds per iteration over those of the baseline's runs. Raises `Uncompared`."""
    runs = comparable_runs(head, baseline)
    if not runs or len(head.rounds) < FEWEST_ROUNDS:
        raise Uncompared("inconclusive", TOO_FEW)
    return _distance(head, runs)


def seconds_elsewhere(record: Record, prior: Prior) -> Pooled:
    """The logarithm of a record's seconds per iteration, as well as it tells what another of the same code would take.
    prior: how much those differ. Raises `Uncompared`."""
    if len(record.rounds) < FEWEST_ROUNDS:
        raise Uncompared("inconclusive", TOO_FEW)
    return pool([log_seconds(record)], prior)


def comparable_runs(head: Record, baseline: Sequence[Record]) -> list[Record]:
    """The records of the baseline's runs that one can be compared with. Raises `Uncompared`."""
    if not baseline:
        raise Uncompared("new", "the baseline does not have it")
    runs = _usable(head, baseline)
    doubt = _doubt(head, runs)
    if doubt:
        raise Uncompared("inconclusive", doubt)
    return runs


def _usable(head: Record, baseline: Sequence[Record]) -> list[Record]:
    """Those with rounds enough: on as many cores as the head, and undisturbed, where there are any."""
    known = [record for record in baseline if len(record.rounds) >= FEWEST_ROUNDS]
    alike = [record for record in known if record.threads == head.threads] or known
    return [record for record in alike if not is_busy(record)] or alike


def log_seconds(record: Record) -> Effect:
    """The logarithm of a record's median seconds per iteration, with its standard error within the run; from two rounds
    up."""
    count = len(record.rounds)
    medians = np.log(bootstrap_medians(record.samples, seed=count, draws=DRAWS))
    # Draws from a sample scatter as if its own mean were the truth: too little by n - 1 in n.
    return Effect(math.log(record.latency_s), float(np.std(medians) * math.sqrt(count / (count - 1))))


def is_busy(record: Record) -> bool:
    """Whether the kernel told of other work on the cores while the record was made."""
    return is_contended(record.contention.pressure_percent, record.contention.steal_percent)


def decide(distance: Pooled, rule: Rule) -> Assessment:
    """Slower or faster by more than the margin, beyond what runs differ by chance: the margin is widened by that much.
    Unchanged is what is surely not slower by more than the widened one, and may well not be slower at all."""
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
    """What a difference may come from besides the code; empty when there is nothing."""
    others = {run.threads for run in runs} - {head.threads, None}
    if head.threads and others:
        numbers = " or ".join(map(str, sorted(filter(None, others))))
        return f"measured on {counted(head.threads, 'core')}, and on {numbers} in the baseline's runs"
    if is_busy(head):
        return "the machine was busy during this run"
    return "the machine was busy during the baseline's runs" if any(map(is_busy, runs)) else ""
