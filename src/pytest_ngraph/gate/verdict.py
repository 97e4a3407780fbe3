"""The verdict on one cell of a run, as data and as one line of text."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import Comparison, PairedRound, Subject, is_disturbed
from pytest_ngraph.gate.decision import Evidence, weigh
from pytest_ngraph.gate.in_words import by_how_much, change, tenths
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.rule import LOOKS, Rule
from pytest_ngraph.gate.why import why
from pytest_ngraph.metrics.student import t_quantile
from pytest_ngraph.stats import Estimate
from pytest_ngraph.wording import counted

VerdictName = Literal["improved", "unchanged", "regressed", "inconclusive", "lost", "new", "missing"]

SAME = "same graph, weights and inputs, nothing to measure"
IN_TWO_WAYS: tuple[VerdictName, ...] = ("lost", "new", "regressed", "inconclusive", "improved", "unchanged")
"""Of a case that is compared in two ways, the verdict that comes first here is the verdict on the case."""
SUBJECTS: dict[Subject, str] = {
    "program": "the program is ",
    "module": "the module is ",
    "compiler": "with each side's own compiler, ",
}
"""What precedes the change of a case, where it is not only its graph that can have changed."""
BUSY_SHARE = 0.5
"""The share of disturbed rounds from which the machine is given as the reason why nothing could be decided."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The gate's verdict on a case.

    Attributes:
        against: name of the base.
        compared: what it is about, as in `Comparison.subject`.
        ratio: head's time over base's (1.02: 2 % slower), with its interval; None where nothing was measured.
        confidence: of that interval; None where nothing was measured.
        p: one-sided p-value of "no slower than the margin", corrected for looks.
        launches: number of launches.
        fresh: how many of them ran in a process of their own.
        rounds: number of rounds.
        disturbed: how many of them were disturbed, by other work on the cores or by heat or power.
        pressure_percent: CPU pressure, on average over the rounds.
        detectable: smallest slowdown that this run would have called regressed with 95 % probability, as a share.
        runs: number of the stored baseline's runs that it was compared with.
        margin: the margin that the verdict is about, as a share; None where nothing was measured. A regressed or
            improved case lies beyond it. An unchanged one is surely not slower by more; against a stored baseline, it
            lies within it on both sides, and the margin is widened by what runs differ by chance.
        relative_to: the compiler that all times in `ratio` are divided by, measured in the same run; empty for none.
        basis: with a stored baseline, what `ratio` is a ratio of, and why, as a phrase.
        time: head's time over base's where `ratio` is relative to another compiler.
        measured_s: wall seconds.
        reason: why it is inconclusive, lost, new or missing, or was not measured.
        broken: whether it is inconclusive because the base failed to be built or run, and not because of noise.
        why: where head and base differ, in one sentence; empty where they were not profiled.
    """

    case: Case
    name: VerdictName
    against: str = ""
    compared: Subject = ""
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
    relative_to: str = ""
    basis: str = ""
    time: Estimate | None = None
    measured_s: float = 0.0
    reason: str = ""
    broken: bool = False
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready data."""
        estimates = {"ratio": self.ratio, "time": self.time}
        found = {name: each._asdict() if each else None for name, each in estimates.items()}
        return dataclasses.asdict(self) | {"case": self.case.to_dict()} | found

    @property
    def subject(self) -> tuple[str, str]:
        """What the verdict is on: the case and the base."""
        return self.case.id, self.against

    @property
    def text(self) -> str:
        """The verdict in one line: `regressed: 2.9 % slower than main at 1a2b3c4 (99.9 % interval 2.2 to 3.6 %),
        6 launches, 3 of 60 rounds disturbed, margin 1.0 %`."""
        parts = [self.reason] if self.reason else []
        if self.ratio and self.confidence:
            base = " ".join(filter(None, [self.against or "the base", self.basis]))
            facts = [SUBJECTS.get(self.compared, "") + change(self.ratio, self.confidence, base)]
            facts += [f"in time {by_how_much(self.time.value)}"] if self.time else []
            facts += [self._effort, *([f"margin {self.shown_margin}"] if self.shown_margin else [])]
            parts.append(", ".join(facts))
        return f"{self.name}: {'; '.join(parts)}"

    @property
    def shown_margin(self) -> str:
        """The margin in words: `1.0 %` for slowdowns, `±6.1 %` if it holds on both sides; empty for none."""
        if self.margin is None:
            return ""
        both = self.runs and self.name in ("unchanged", "inconclusive")
        return f"{'±' if both else ''}{tenths(100 * self.margin)} %"

    @property
    def details(self) -> dict[str, str]:
        """What JUnit shows besides the verdict's name: `compared`, `margin` and `why`, where there is one."""
        found = {"compared": self.compared, "margin": self.shown_margin, "why": self.why}
        return {name: text for name, text in found.items() if text}

    @property
    def _effort(self) -> str:
        if self.runs:
            return counted(self.runs, "run")
        return f"{counted(self.launches, 'launch', 'launches')}, {self.disturbed} of {self.rounds} rounds disturbed"


def verdict(case: Case, comparison: Comparison, rule: Rule) -> Verdict:
    """Return the verdict on a case of which no more will be measured.

    Where it was compared in two ways, the worse verdict counts; of two alike, the one of a base that is broken.
    """
    found = (_verdict(case, way, rule) for way in comparison.ways)
    return min(found, key=lambda each: (IN_TWO_WAYS.index(each.name), not each.broken))


def _verdict(case: Case, comparison: Comparison, rule: Rule) -> Verdict:
    against = comparison.against
    if comparison.lost:
        return lost(case, comparison.lost, against, "runs it")
    if comparison.new or comparison.base_skipped:
        return Verdict(case=case, name="new", against=against, reason=why_new(comparison))
    if comparison.same:
        return Verdict(case=case, name="unchanged", against=against, ratio=Estimate.exactly(1.0), reason=SAME)
    evidence = weigh(comparison.launches, rule.applied_to(comparison), comparison.placement)
    if evidence is None:
        return Verdict(
            case=case,
            name="inconclusive",
            against=against,
            compared=comparison.subject,
            reason=comparison.problem or "too little was measured to estimate the error",
            broken=bool(comparison.broken),
        )
    return _measured(case, comparison, evidence)


def lost(case: Case, reason: str, against: str, proof: str) -> Verdict:
    """Return the verdict on a case that cannot be run any more.

    Args:
        reason: why it cannot be run.
        proof: what shows that the base can run it, as a phrase that follows the base's name.
    """
    text = f"{reason.rstrip('.')}; {against or 'the base'} {proof}"
    return Verdict(case=case, name="lost", against=against, reason=text)


def why_new(comparison: Comparison) -> str:
    """Return why there is nothing at the base to compare a case with."""
    base = comparison.against or "the base"
    return f"{base} cannot run it: {comparison.base_skipped}" if comparison.base_skipped else f"{base} does not have it"


def missing(case: Case, against: str) -> Verdict:
    """Return the verdict on a case that only the base has."""
    return Verdict(case=case, name="missing", against=against, reason=f"only {against} has it")


def _measured(case: Case, comparison: Comparison, evidence: Evidence) -> Verdict:
    decision = evidence.decision
    name: VerdictName = "inconclusive" if comparison.problem or decision == "undecided" else decision
    rounds = [each for launch in comparison.launches for each in launch.rounds]
    pooled, tail = _basis(name, evidence)
    ratio = Estimate(math.exp(pooled.mean), math.exp(pooled.low(tail)), math.exp(pooled.high(tail)))
    return Verdict(
        case=case,
        name=name,
        against=comparison.against,
        compared=comparison.subject,
        ratio=ratio,
        confidence=1 - 2 * tail,
        p=evidence.slower.p if evidence.slower else 1.0,
        launches=len(comparison.launches),
        fresh=sum(launch.fresh for launch in comparison.launches),
        rounds=len(rounds),
        disturbed=sum(map(is_disturbed, rounds)),
        pressure_percent=_pressure_percent(rounds),
        detectable=_detectable(evidence),
        margin=evidence.rule.margin,
        measured_s=comparison.elapsed_s,
        broken=bool(comparison.broken),
        reason=_reason(comparison, rounds, evidence.rule) if name == "inconclusive" else "",
        why=why(comparison.explanation, ratio) if comparison.explanation else "",
    )


def _basis(name: VerdictName, evidence: Evidence) -> tuple[Pooled, float]:
    """Return the evidence for the verdict, and the tail that its interval excludes at either end.

    Both are those of the decision itself, so that the interval shows why it was made.
    """
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
        suffix = "" if pressure is None else f", CPU pressure {pressure:.0f} %"
        return f"{_disturbance(rounds)}: {disturbed} of {len(rounds)} rounds disturbed{suffix}"
    fresh = sum(launch.fresh for launch in comparison.launches)
    if fresh < LOOKS[0]:
        return f"measuring ended after {fresh} fresh launches, but calling a regression takes at least {LOOKS[0]}"
    margin = f"the margin of {100 * rule.margin:.3g} %"
    return f"neither surely within {margin} nor surely beyond it, after {fresh} fresh launches"


def _disturbance(rounds: list[PairedRound]) -> str:
    """Return what disturbed most of the disturbed rounds: clocks that were held down, or other work."""
    disturbed = list(filter(is_disturbed, rounds))
    held_down = Counter(each.throttled_by for each in disturbed if each.throttled_by)
    if 2 * held_down.total() <= len(disturbed):
        return "the machine is too busy"
    [(reason, _)] = held_down.most_common(1)
    return f"clocks were held down ({reason})"


def _pressure_percent(rounds: list[PairedRound]) -> float | None:
    known = [(each.pressure_percent, each.elapsed_s) for each in rounds if each.pressure_percent is not None]
    elapsed_s = sum(seconds for _, seconds in known)
    return sum(percent * seconds for percent, seconds in known) / elapsed_s if elapsed_s else None
