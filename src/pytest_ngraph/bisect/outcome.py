"""What a bisection found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_ngraph.bisect.answer import Answer, Found
from pytest_ngraph.bisect.graph import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """A point that made a case worse than at the point before it.

    Attributes:
        answer: of the comparison with that point.
    """

    case: str
    point: Point
    parent: Point
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A range in which a case became worse, and that could not be narrowed to one point.

    Attributes:
        base: the last point where it was fine, or that it was compared with.
        tip: the first point where it was worse.
        points: one of these it was, or several of them together, oldest first.
        reason: why it is not narrower.
        reasons: of points that could not be answered, the most frequent reason for each kind of answer.
        answer: of the comparison of `tip` with the base.
    """

    case: str
    base: Point
    tip: Point
    points: Sequence[Point]
    reason: str
    answer: Answer
    reasons: Mapping[Found, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a bisection found.

    Attributes:
        total: for each case, how the bad point compares with the good one.
        culprits: oldest first.
        ranges: likewise.
        unsure: cases for which it is not known whether they became worse again after the last culprit, and why.
        steps: how many runs answered.
        measured: how many of these had to measure.
        seconds: of all runs together.
    """

    good: Point
    bad: Point
    total: Mapping[str, Answer] = field(default_factory=dict)
    culprits: Sequence[Culprit] = ()
    ranges: Sequence[Range] = ()
    unsure: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0
    measured: int = 0
    seconds: float = 0.0

    @property
    def regressed(self) -> list[str]:
        """The cases that are worse at the bad point than at the good one."""
        return [case for case, answer in self.total.items() if answer.found == "worse"]

    @property
    def is_complete(self) -> bool:
        """Whether a point is named for every case that became worse, of which there is at least one."""
        named = {culprit.case for culprit in self.culprits}
        return bool(self.regressed) and not self.ranges and named >= set(self.regressed)

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON-ready data, documented in docs/bisect.md."""
        return {
            "good": self.good,
            "bad": self.bad,
            "cases": {case: answer.to_dict() for case, answer in self.total.items()},
            "culprits": [
                {"case": each.case, "commit": each.point, "parent": each.parent} | each.answer.to_dict()
                for each in self.culprits
            ],
            "ranges": [
                {
                    "case": each.case,
                    "after": each.base,
                    "until": each.tip,
                    "commits": list(each.points),
                    "narrowed": each.reason,
                    "reasons": dict(each.reasons),
                }
                | each.answer.to_dict()
                for each in self.ranges
            ],
            "unsure": dict(self.unsure),
            "steps": self.steps,
            "measured": self.measured,
            "seconds": self.seconds,
        }
