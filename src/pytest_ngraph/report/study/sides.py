"""Two runs or two devices side by side: the cases that both measured, and how many times as fast one side is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import Uncompared
from pytest_ngraph.gate.pooling import Pooled, combine
from pytest_ngraph.gate.stored.baseline import seconds_elsewhere, time_change_of_runs
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS
from pytest_ngraph.gate.stored.stored_runs import StoredRuns, is_busy
from pytest_ngraph.metrics.between import TAIL
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import columns, frames

LARGEST = 50.0
"""Logarithms of ratios are cut off here."""
BUSY = "the machine was busy while one of them was measured"
NOTE = "Two runs or two devices, case by case: the throughput of the second over that of the first."
MISSING = "needs two runs or two devices to compare: --compare A B"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two that are compared.

    Attributes:
        name: the run or the device, as the user gave it.
        records: its records, the last of each case.
    """

    name: str
    records: Mapping[Case, Record]

    @classmethod
    def of_run(cls, name: str, records: Collection[Record]) -> Side:
        """Return a run as a side."""
        return cls(name=name, records={each.case: each for each in _measured(records)})

    @classmethod
    def of_device(cls, name: str, records: Collection[Record]) -> Side:
        """Return a device as a side, from runs in any order; its cases get no device, so that they are the other's."""
        in_order = sorted(_measured(records), key=lambda each: each.started_at)
        own = [each for each in in_order if each.case.device == name]
        return cls(name=name, records={dataclasses.replace(each.case, device=""): each for each in own})


@dataclass(frozen=True, kw_only=True, eq=False)
class Sides:
    """Two sides, the second over the first.

    Attributes:
        what: what a side is: `run` or `device`.
        alike: whether the device of a case was the same machine on both sides.
    """

    what: str
    one: Side
    other: Side
    alike: Callable[[str], bool] = lambda device: False

    @property
    def note(self) -> str:
        """How the ratio was computed, and what it cannot show."""
        name, where = self.other.name, "at different times" if self.what == "run" else "on different machines"
        better = {
            "run": "Measured together, much smaller differences can be seen: pytest --ngraph-against=REVISION.",
            "device": "Compilers on one device are compared in the same minutes; devices are not.",
        }
        spread = f"{100 * BETWEEN_RUNS.spread:.0f} % on a quiet machine, more on others"
        return (
            f"Throughput of {self.what} {name} over that of {self.what} {self.one.name}: above 1, {name} is faster. "
            f"They were measured {where}, so that more than the code differs: machines drift. The 95 % intervals "
            f"include by how much runs of the same code differ: {spread}. {better[self.what]} "
            "Surely: with the interval widened for the number of cases, too (Bonferroni)."
        )

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row for each case that both sides measured (`columns.SIDES`), the highest ratio first."""
        cases = [case for case in self.one.records if case in self.other.records]
        rows = [self._row(case, tail=TAIL / len(cases)) for case in cases]
        device = f"{self.other.name} over {self.one.name}"
        shown = [case if case.device else dataclasses.replace(case, device=device) for case in cases]
        sides = {name: [row[name] for row in rows] for name in columns.OF_SIDES}
        found = pl.DataFrame({**frames.scopes(shown), **sides}, schema=columns.SIDES, strict=False)
        return found.sort("ratio", descending=True, maintain_order=True)

    @cached_property
    def _earlier(self) -> StoredRuns:
        return StoredRuns([self.one.records])

    @property
    def only(self) -> str:
        """How many cases only one side measured, as a sentence; empty if there are none."""
        one, other = self.one.records.keys(), self.other.records.keys()
        parts = [
            f"{len(own)} only {self.what} {name}"
            for own, name in ((one - other, self.one.name), (other - one, self.other.name))
            if own
        ]
        return f"Of the cases, {' and '.join(parts)} measured." if parts else ""

    def _row(self, case: Case, tail: float) -> dict[str, Any]:
        first, second = self.one.records[case], self.other.records[case]
        row: dict[str, Any] = {
            "first_latency_s": first.latency_s,
            "second_latency_s": second.latency_s,
            "ratio": first.latency_s / second.latency_s,
            "ratio_low": None,
            "ratio_high": None,
            "change": "unknown",
            "reason": "",
        }
        try:
            faster = self._change(case, first, second)
        except Uncompared as reason:
            return row | {"reason": str(reason)}
        row |= {"ratio_low": _ratio(faster.low(TAIL)), "ratio_high": _ratio(faster.high(TAIL))}
        is_sure = faster.low(tail) > 0 or faster.high(tail) < 0
        return row | {"change": f"surely {'faster' if faster.mean > 0 else 'slower'}" if is_sure else "too close"}

    def _change(self, case: Case, first: Record, second: Record) -> Pooled:
        """Return the logarithm of the ratio. Raises `Uncompared`."""
        if self.what == "run" and self.alike(case.device):
            slower = time_change_of_runs(second, self.other.records, self._earlier)
            return combine([(-1.0, slower)])
        if is_busy(first) or is_busy(second):
            raise Uncompared("inconclusive", BUSY)
        each = (seconds_elsewhere(record, BETWEEN_RUNS) for record in (first, second))
        return combine(zip((1.0, -1.0), each, strict=True))


def _measured(records: Collection[Record]) -> Iterator[Record]:
    return (each for each in records if each.outcome == "measured" and each.rounds)


def _ratio(log: float) -> float:
    return math.exp(max(-LARGEST, min(LARGEST, log)))
