"""What came of judging many runs of unchanged code by one way: what it would have found, and how often it was wrong."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from statistics import mean, median

from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.stored.baseline import assess_runs, detectable

ALONE, TIME, RATIO = "each case by itself, in time", "all cases together, in time", "all cases together, over identity"
WAYS = (ALONE, TIME, RATIO)
"""The ways of judging: the first is that without learning from other cases."""
PLANTED = (0.05, 0.1, 0.2)
"""Slowdowns that are added to what was seen, as shares."""


class Tally:
    """Runs that were judged by one way. The true change of every case is none."""

    def __init__(self) -> None:
        self._detectable: list[float] = []
        self._covered: list[bool] = []
        self._unchanged: list[bool] = []
        self._alarms: list[bool] = []
        self._found: dict[float, list[bool]] = {slowdown: [] for slowdown in PLANTED}

    def add(self, distances: Sequence[Pooled]) -> None:
        """Add a run, by the distances of all its cases from a baseline. They share the error level."""
        rule = Rule(cells=len(distances))
        names = [assess_runs(distance, rule).name for distance in distances]
        self._alarms.append("regressed" in names)
        self._unchanged += [name == "unchanged" for name in names]
        for distance in distances:
            self._detectable.append(math.expm1(detectable(distance, rule)))
            self._covered.append(distance.low(rule.miss) < 0 < distance.high(rule.miss))
            for slowdown, found in self._found.items():
                slower = dataclasses.replace(distance, mean=distance.mean + math.log1p(slowdown))
                found.append(assess_runs(slower, rule).name == "regressed")

    @property
    def short(self) -> str:
        """The median detectable slowdown; in brackets, runs with a false alarm and coverage of the 90 % interval."""
        if not self._detectable:
            return "–"
        return f"{percent(median(self._detectable))} ({percent(mean(self._alarms), 1)}, {percent(mean(self._covered))})"

    @property
    def cells(self) -> list[str]:
        """Runs, detectable slowdown, runs with a false alarm, coverage, unchanged cases, and planted ones found."""
        shares = [self._covered, self._unchanged, *self._found.values()]
        alarms = f"{sum(self._alarms)} of {len(self._alarms)}"
        return [percent(median(self._detectable), 1), alarms, *(percent(mean(each)) for each in shares)]


HEADING = (
    "detectable", "runs with a false alarm", "90 % interval covers", "unchanged",
    *(f"of {slowdown:.0%} found" for slowdown in PLANTED),
)  # fmt: skip


def percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"
