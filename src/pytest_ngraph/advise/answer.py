"""The answer: what follows from what a race has measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_ngraph.advise.beside import apart, named_beside
from pytest_ngraph.advise.front import figures, front_of
from pytest_ngraph.advise.limits import Held, Holder, p99
from pytest_ngraph.advise.race import NO_TIME, Raced
from pytest_ngraph.advise.speeds import speeds
from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics import compute
from pytest_ngraph.metrics.between import Between, is_surely_above, with_between
from pytest_ngraph.record import Record
from pytest_ngraph.stats import LEVEL, Estimate, without_infinities


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A candidate that was measured.

    Attributes:
        record: its last record.
        throughput: samples per second, beside the others of its group.
        held: what became of each limit.
        speedup: over identity, measured in turn with it, with what other processes may show; None where that is
            unknown.
        below: a candidate that it is surely slower than; None for none.
        is_on_front: whether no other candidate is better in one figure and no worse in the others.
    """

    record: Record
    throughput: float
    held: tuple[Held, ...]
    speedup: Estimate | None
    below: Case | None = None
    is_on_front: bool = False

    @property
    def case(self) -> Case:
        return self.record.case

    @property
    def s_per_sample(self) -> float:
        return 1 / self.throughput

    @property
    def keeps(self) -> bool:
        """Whether its figures keep every limit; surely or not."""
        return all(each.state in ("kept", "unsure") for each in self.held)

    @property
    def breaches(self) -> list[str]:
        """The limits that it does not keep, in words."""
        return [each.text for each in self.held if each.state == "breached"]

    @property
    def unsure(self) -> list[str]:
        """The limits that it keeps, and not surely, in words."""
        return [each.text for each in self.held if each.state == "unsure"]

    @property
    def unknown(self) -> list[str]:
        """What is limited and was not measured, in words; empty where another limit is breached."""
        return [] if self.breaches else [each.text for each in self.held if each.state == "unknown"]

    @property
    def p99(self) -> Estimate | None:
        return p99(self.record)

    def cost(self, metric: str) -> float | None:
        """Return what serving it costs; None where that was not measured."""
        return self.record.reading(metric)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What to deploy.

    Attributes:
        pick: the fastest candidate whose figures keep all limits, or its compiler without options where these gain
            hardly anything; None where none keeps them.
        close: candidates that keep the limits, or may, and are not surely slower than the pick; the fastest first.
        candidates: all that were measured, the fastest first.
        dropped: what was not measured to the end, and why.
        unheld: candidates that breach no limit so far, and were not held to each limit: the budget had no time for it.
        unshown: candidates that breach no limit so far, of which everything was measured, and did not show what is
            limited.
        run: the run that has the records.
    """

    pick: Candidate | None
    close: tuple[Candidate, ...]
    candidates: tuple[Candidate, ...]
    dropped: Mapping[Case, str]
    unheld: tuple[Candidate, ...] = ()
    unshown: tuple[Candidate, ...] = ()
    run: str = ""

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known to keep the limits, and something may: what is limited was not measured of it."""
        return self.pick is None and any(each.unknown for each in self.candidates)

    @property
    def untimed(self) -> list[Case]:
        """Candidates that the budget had no time for."""
        return [case for case, reason in self.dropped.items() if reason == NO_TIME]

    @property
    def barred(self) -> Candidate | None:
        """The fastest candidate, where it is faster than the pick and only a limit bars it; else None."""
        if self.pick is None:
            return None
        fastest = self.candidates[0]
        return fastest if fastest.breaches and fastest.s_per_sample < self.pick.s_per_sample else None

    @property
    def doubts(self) -> list[str]:
        """Why the pick is not sure, in words; empty where it is."""
        if self.pick is None:
            return []
        found = [f"{named_beside(each.case, self.pick.case)} is {apart(each, self.pick)}" for each in self.close[:1]]
        return found + self.pick.unsure

    @property
    def is_sure(self) -> bool:
        """Whether the pick surely keeps the limits, and all that was tried is surely slower or does not keep them."""
        return self.pick is not None and not self.close and not self.pick.unsure

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data."""
        return {
            "run": self.run,
            "pick": self.pick.case.id if self.pick else None,
            "sure": self.is_sure,
            "doubts": self.doubts,
            "may_keep": [each.case.id for each in self.candidates if self.is_unknown and each.unknown],
            "close": [each.case.id for each in self.close],
            "candidates": [_to_dict(each) for each in self.candidates],
            "dropped": {case.id: reason for case, reason in self.dropped.items()},
        }


def answer(
    raced: Raced,
    named: set[str],
    limits: Holder,
    between: Between,
    run: str = "",
    indifference: float = 0.0,
) -> Answer:
    """Return what follows from a race.

    Args:
        named: compilers that may be picked.
        run: the run that has the records.
        indifference: the lead of an option over its compiler as it is, as a share, that does not matter.
    """
    latest = raced.latest
    measured = [record for record in latest.values() if record.outcome == "measured"]
    held = {record.case: tuple(limits.held(record, between)) for record in measured}
    eligible = {
        case
        for case, own in held.items()
        if case.compiler in named and not any(each.state == "breached" for each in own)
    }
    level = (1 - LEVEL) / max(1, len(eligible) - 1)
    throughput = speeds(raced.groups)
    below = _surely_slower(raced.groups, throughput, eligible, between, level)
    speedups = _speedups(raced.groups, between)
    found = [
        Candidate(
            record=record,
            throughput=throughput[record.case],
            held=held[record.case],
            speedup=speedups.get(record.case),
            below=below.get(record.case),
        )
        for record in sorted(measured, key=lambda record: -throughput[record.case])
        if record.case.compiler in named
    ]
    complete = [each for each in found if each.keeps and (each.case in raced.finalists or not raced.finalists)]
    pick = _picked(complete, indifference)
    close = [
        each
        for each in found
        if pick
        and each.case in eligible - {pick.case}
        and each.below is None
        and not (each.case.group != pick.case.group and _is_faster(pick.record, each.record, between, level))
    ]
    front = front_of(found)
    candidates = [replace(each, is_on_front=each.case in front) for each in found]
    dropped = {
        record.case: _why_not_measured(record)
        for record in latest.values()
        if record.outcome != "measured" and record.case.compiler in named
    }
    return Answer(
        pick=pick,
        close=tuple(close),
        candidates=tuple(candidates),
        dropped=dropped | raced.untried,
        unheld=tuple(each for each in found if raced.finalists and each.case not in raced.finalists and each.unknown),
        unshown=tuple(each for each in found if each.case in raced.finalists and each.unknown),
        run=run,
    )


def _picked(complete: Sequence[Candidate], indifference: float) -> Candidate | None:
    """Return the fastest of these, or its compiler without options if that hardly takes longer, and not surely so.

    Of several options that change nothing, one ran in the luckiest process. Its lead would not be seen again.
    """
    if not complete:
        return None
    fastest = complete[0]
    plain = replace(fastest.case, compiler=fastest.case.compiler_name)
    enough = (1 + indifference) * fastest.s_per_sample
    as_good = (each for each in complete if each.case == plain and each.below is None and each.s_per_sample <= enough)
    return next(as_good, fastest)


def _surely_slower(
    groups: Sequence[Sequence[Record]],
    throughput: Mapping[Case, float],
    eligible: set[Case],
    between: Between,
    level: float,
) -> dict[Case, Case]:
    """Return candidates that are surely slower than an eligible one measured in turn, each with the fastest such one.

    Such a candidate cannot be the fastest. If two were measured together in several groups, the last group counts.
    """
    found: dict[Case, dict[Case, bool]] = defaultdict(dict)
    for group in groups:
        measured = [each for each in group if each.outcome == "measured"]
        for record in measured:
            faster = {each.case: _is_faster(each, record, between, level) for each in measured if each.case in eligible}
            found[record.case] |= faster
    surely = {case: [other for other, is_faster in own.items() if is_faster] for case, own in found.items()}
    return {case: max(others, key=lambda other: throughput[other]) for case, others in surely.items() if others}


def _is_faster(one: Record, other: Record, between: Between, level: float) -> bool:
    """Return whether the first is surely faster than the second, other processes included."""
    sessions = one.measured_in, other.measured_in
    return is_surely_above(one.throughput_interval, other.throughput_interval, between, level, sessions=sessions)


def _speedups(groups: Sequence[Sequence[Record]], between: Between) -> dict[Case, Estimate]:
    """Return the speedup of each case over identity of its own group, with what other processes may show."""
    found: dict[Case, Estimate] = {}
    for group in groups:
        metrics = compute([record for record in group if record.outcome == "measured"], between=between)
        for case, own in metrics.by_case.items():
            speedup = own["speedup"].estimate
            if speedup is not None and case.compiler != IDENTITY:
                sessions = metrics.sessions_of((case, replace(case, compiler=IDENTITY)))
                found[case] = with_between(speedup, between.of_ratio(*sessions))
    return found


def _why_not_measured(record: Record) -> str:
    if record.failure is not None and record.failure.kind == "timed out":
        return f"its phase {record.failure.phase} took longer than the budget had left"
    if record.failure is not None:
        return f"failed, {record.failure.in_one_line.splitlines()[0]}"
    return record.skip_reason or record.outcome


def _to_dict(candidate: Candidate) -> dict[str, Any]:
    found = {
        "case": candidate.case.id,
        **figures(candidate),
        "speedup": list(candidate.speedup) if candidate.speedup else None,
        "error": candidate.record.agreement.error if candidate.record.agreement else None,
        "limits": [each.text for each in candidate.held],
        "keeps": candidate.keeps,
        "surely_slower_than": candidate.below.id if candidate.below else None,
        "on_front": candidate.is_on_front,
    }
    made: dict[str, Any] = without_infinities(found)
    return made
