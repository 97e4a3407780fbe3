"""A base whose figures are all given, for tests of what is compared with it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pytest_ngraph.case import Case
from pytest_ngraph.gate.assessment import Assessment, assess_launches
from pytest_ngraph.gate.changes import Reading, Uncompared
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Verdict
from pytest_ngraph.record import Record

MAIN = "main at 1a2b3c4"


def known(log_ratio: float, error: float = 0.002, dof: float = 7) -> Pooled:
    return Pooled(log_ratio, error, dof, 4)


@dataclass
class Base:
    """Answers with the figures that it was given.

    Attributes:
        times: log ratios of head over base.
        logs: logarithms of the head's seconds.
        readings: by case and metric.
        reserved: how many metrics it was asked to reserve a share of the error level for.
    """

    times: Mapping[Case, Pooled] = field(default_factory=dict)
    logs: Mapping[Case, float] = field(default_factory=dict)
    readings: Mapping[tuple[Case, str], Reading] = field(default_factory=dict)
    rule: Rule = field(default_factory=Rule)
    problem: str = ""
    name: str = MAIN
    description: str = MAIN
    reserved: int = 0
    verdicts: dict[Case, Verdict] = field(default_factory=dict)

    def reserve(self, metrics: int) -> None:
        self.reserved = metrics

    def time(self, case: Case) -> Pooled:
        if case not in self.times:
            raise Uncompared("new", f"{MAIN} does not have it")
        return self.times[case]

    def seconds(self, case: Case) -> Pooled:
        return known(self.logs[case])

    def reading(self, case: Case, metric: str) -> Reading:
        return self.readings[case, metric]

    def assess(self, worse: Pooled, rule: Rule) -> Assessment:
        return assess_launches(worse, rule)

    def expect(self, cases: Collection[Case]) -> None:
        """Ignore the cases: all figures are given."""

    def judge(self, record: Record) -> None:
        raise AssertionError(f"{record.case.id} was judged already")

    def conclude(self, *, whole: bool = True) -> list[Verdict]:
        return []
