"""The verdict on one cell of a run, as data and in one line."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, PairedRound, is_disturbed
from pytest_ngraph.gate.decision import Evidence, weigh
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.rule import LOOKS, Rule
from pytest_ngraph.gate.student import t_quantile
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted

VerdictName = Literal["improved", "unchanged", "regressed", "inconclusive", "new", "missing"]

SAME = "same graph and weights, nothing to measure"
BUSY_SHARE = 0.5
"""Of the rounds disturbed: from here on the machine is to blame for what could not be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the gate says of a case.

    against: names the base. ratio: head's time over base's (1.02: 2 % slower) within an interval of this confidence;
    both None where nothing was measured. p: one-sided p-value of "no slower than the margin", corrected for looks.
    launches, fresh: how many, and how many of them in processes of their own. rounds, disturbed: all, and those during
    which the cores had other work. pressure_percent: of the CPU, on average over the rounds.
    detectable: smallest slowdown that this run would have called regressed with 95 % probability, as a share.
    runs: those of the stored baseline that it was compared with. margin: as a share, what is tolerated then, widened by
    what runs differ by chance; None where base and head were measured together.
    measured_s: wall seconds. reason: why it is inconclusive, new or missing, or was not measured.
    """

    case: Case
    name: VerdictName
    against: str = ""
    ratio: Estimate | None = None
    confidence: float | None = None
    p: float = 1.0
    launches: int = 0
    fresh: int = 0
    rounds: int = 0
    disturbed: int = 0
    pressure_percent: float | None = None
    detectable: float | None = None
    runs: int = 0
    margin: float | None = None
    measured_s: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready data."""
        ratio = self.ratio._asdict() if self.ratio else None
        return dataclasses.asdict(self) | {"case": self.case.to_dict(), "ratio": ratio}

    @property
    def subject(self) -> tuple[str, str]:
        """What it is on: the case, and what that was compared with."""
        return self.case.id, self.against

    @property
    def text(self) -> str:
        """The verdict in one line: `regressed: 2.9 % slower than main at 1a2b3c4 (99.9 % interval 2.2 to 3.6 %),
        6 launches, 3 of 60 rounds disturbed`."""
        parts = [self.reason] if self.reason else []
        if self.ratio and self.confidence:
            parts.append(f"{_change(self.ratio, self.confidence, self.against)}, {self._effort}")
        return f"{self.name}: {'; '.join(parts)}"

    @property
    def _effort(self) -> str:
        if self.margin is not None:
            return f"{counted(self.runs, 'run')}, margin widened to {100 * self.margin:.1f} %"
        return f"{counted(self.launches, 'launch', 'launches')}, {self.disturbed} of {self.rounds} rounds disturbed"


def verdict(case: Case, comparison: Comparison, rule: Rule) -> Verdict:
    """The verdict on what was measured, no more being taken."""
    against = comparison.against
    if comparison.new:
        reason = f"{against or 'the base'} does not have it"
        return Verdict(case=case, name="new", against=against, reason=reason)
    if comparison.same:
        return Verdict(case=case, name="unchanged", against=against, ratio=Estimate.exactly(1.0), reason=SAME)
    evidence = weigh(comparison.launches, rule, comparison.placement)
    if evidence is None:
        reason = comparison.problem or "too little was measured to tell how wrong it is"
        return Verdict(case=case, name="inconclusive", against=against, reason=reason)
    return _measured(case, comparison, evidence)


def missing(case: Case, against: str) -> Verdict:
    """The verdict on a case that only the base has."""
    return Verdict(case=case, name="missing", against=against, reason=f"only {against} has it")


def _measured(case: Case, comparison: Comparison, evidence: Evidence) -> Verdict:
    decision = evidence.decision
    name: VerdictName = "inconclusive" if comparison.problem or decision == "undecided" else decision
    rounds = [each for launch in comparison.launches for each in launch.rounds]
    pooled, tail = _basis(name, evidence)
    return Verdict(
        case=case,
        name=name,
        against=comparison.against,
        ratio=Estimate(math.exp(pooled.mean), math.exp(pooled.low(tail)), math.exp(pooled.high(tail))),
        confidence=1 - 2 * tail,
        p=evidence.slower.p if evidence.slower else 1.0,
        launches=len(comparison.launches),
        fresh=sum(launch.fresh for launch in comparison.launches),
        rounds=len(rounds),
        disturbed=sum(map(is_disturbed, rounds)),
        pressure_percent=_pressure_percent(rounds),
        detectable=_detectable(evidence),
        measured_s=comparison.elapsed_s,
        reason=_reason(comparison, rounds, evidence.rule) if name == "inconclusive" else "",
    )


def _basis(name: VerdictName, evidence: Evidence) -> tuple[Pooled, float]:
    """What the verdict rests on, and what its interval leaves out at either end, so that the interval shows why."""
    rule = evidence.rule
    if name == "unchanged":
        return evidence.everything, rule.miss
    finding = {"regressed": evidence.slower, "improved": evidence.faster}.get(name)
    if finding:
        return finding.pooled, rule.corrected_level * finding.look.share
    if evidence.seen:
        look, pooled = evidence.seen[-1]
        return pooled, rule.corrected_level * look.share
    return evidence.everything, rule.corrected_level


def _detectable(evidence: Evidence) -> float:
    rule = evidence.rule
    last = rule.looks[-1]
    expected = evidence.everything.extended(last.launches)
    quantiles = (t_quantile(tail, expected.dof) for tail in (rule.corrected_level * last.share, 0.05))
    return math.expm1(rule.limit + sum(quantiles) * expected.standard_error)


def _reason(comparison: Comparison, rounds: list[PairedRound], rule: Rule) -> str:
    disturbed = sum(map(is_disturbed, rounds))
    if comparison.problem:
        return comparison.problem
    if disturbed >= BUSY_SHARE * len(rounds):
        pressure = _pressure_percent(rounds)
        told = "" if pressure is None else f", CPU pressure {pressure:.0f} %"
        return f"the machine is too busy: {disturbed} of {len(rounds)} rounds disturbed{told}"
    fresh = sum(launch.fresh for launch in comparison.launches)
    if fresh < LOOKS[0]:
        return f"measuring ended after {fresh} fresh launches; a regression takes {LOOKS[0]}"
    return f"on either side of the margin of {100 * rule.margin:.3g} %, as far as {fresh} fresh launches tell"


def _pressure_percent(rounds: list[PairedRound]) -> float | None:
    told = [(each.pressure_percent, each.elapsed_s) for each in rounds if each.pressure_percent is not None]
    elapsed_s = sum(seconds for _, seconds in told)
    return sum(percent * seconds for percent, seconds in told) / elapsed_s if elapsed_s else None


def _change(ratio: Estimate, confidence: float, against: str) -> str:
    """`2.9 % slower than main (99.9 % interval 2.2 to 3.6 %)`; of what is faster, the interval says how much faster."""
    sign, word = (100, "slower") if ratio.value >= 1 else (-100, "faster")
    value, *bounds = (sign * (one - 1) for one in ratio)
    low, high = sorted(bounds)
    interval = f"{in_percent(confidence)} % interval {tenths(low)} to {tenths(high)} %"
    return f"{tenths(value)} % {word} than {against or 'the base'} ({interval})"


def tenths(percent: float) -> str:
    """With one decimal."""
    # Adding zero turns a negative zero, which rounding leaves behind, into a plain one.
    return f"{round(percent, 1) + 0.0:.1f}"


def in_percent(confidence: float) -> str:
    """With as many decimals as tell it from 100."""
    decimals = max(0, math.ceil(-math.log10(100 * (1 - confidence))))
    return f"{100 * confidence:.{decimals}f}"


class Assessment(NamedTuple):
    """What a log ratio says. margin: the one that is tolerated, however widened. tail: what the interval that shows why
    leaves out at either end."""

    name: VerdictName
    margin: float
    tail: float


def decide_worse(worse: Pooled, rule: Rule) -> Assessment:
    """Worse or better by more than the margin, beyond the uncertainty. Unchanged is what is surely not worse by it."""
    level = rule.corrected_level
    if worse.p_above(rule.limit) <= level:
        return Assessment("regressed", rule.limit, level)
    if worse.p_below(-rule.limit) <= level:
        return Assessment("improved", rule.limit, level)
    if worse.high(rule.miss) < rule.limit:
        return Assessment("unchanged", rule.limit, rule.miss)
    return Assessment("inconclusive", rule.limit, level)
