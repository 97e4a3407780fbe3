"""Recorded runs as frames, read some records at a time: as objects, all of them would take gigabytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.metrics.cells import UNCHANGED, Cells
from pytest_ngraph.metrics.learned import Conditions, Timed
from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import columns, frames, kept
from pytest_ngraph.report.study.record_rows import RecordRows
from pytest_ngraph.stats import FEWEST_ROUNDS
from pytest_ngraph.store import Outline, Run
from pytest_ngraph.system.garbage import without_garbage_collection

AT_ONCE = 5_000
"""Records that are turned into rows at a time."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """Every record of some runs, in the order in which the records were begun.

    Attributes:
        frame: one row per record, with the columns of `columns.RECORDS`.
        cells: the measurements of the same rows.
        machines: with the columns of `columns.MACHINES`.
        times: of the records that say what they depend on, of cases that have several.
        profiles: what records keep of their profiles, by the row; most have none.
        unmeasured: number of cases without a record that runs which did not come to their end would have measured.
    """

    frame: pl.DataFrame
    cells: Cells
    machines: pl.DataFrame
    times: Sequence[Timed]
    profiles: Mapping[int, dict[str, Any]]
    unmeasured: int

    @classmethod
    def of(cls, runs: Iterable[Run | Outline]) -> Recorded:
        """Read runs, which may come from a generator. Those of outlines are never in memory as a whole.

        Of records begun at the same time, the one of the earlier run comes first.
        """
        digests, planned = Conditions(), set[str]()
        parts, machines = [], [pl.DataFrame(schema=columns.MACHINES)]
        for each in runs:
            if isinstance(each, Outline):
                run, rows = each.run, _of_outline(each, digests)
            else:
                run, rows = each, _rows(each.records, digests)
            parts.append(rows)
            machines.append(frames.machine(run, rows.frame["device"].unique(maintain_order=True)))
            if not run.whole:
                planned |= run.planned
        joined = RecordRows.joined(parts)
        frame, cells = joined.frame, joined.cells
        order = np.argsort(frame["started_at"].to_numpy(), kind="stable")
        ordered = cells.take(order)
        return cls(
            frame=frame if ordered is cells else frame[order],
            cells=ordered,
            machines=pl.concat(machines).sort("run", maintain_order=True),
            times=list(_times(frame, cells, joined.conditions)),
            profiles={
                row: joined.profiles[place] for row, place in enumerate(order.tolist()) if place in joined.profiles
            },
            unmeasured=len(planned.difference(frame["case"])),
        )

    def newest(self) -> Rows:
        """Return the row of each case's last record. One that a gate left out as unchanged replaces no other."""
        last = {case: row for row, case in enumerate(self.cells.cases)}
        of_rows = enumerate(zip(self.cells.cases, self.cells.problems, strict=True))
        last |= {case: row for row, (case, problem) in of_rows if problem != UNCHANGED}
        return np.array(list(last.values()), dtype=np.intp)


def _times(frame: pl.DataFrame, cells: Cells, conditions: Sequence[str]) -> Iterator[Timed]:
    """Yield the times of which two may be compared: alone, a case shows nothing of how much its runs differ."""
    counts = Counter(cells.cases)
    rows = zip(cells.cases, conditions, frame["run"], frame["latency_s"], frame["rounds"], strict=True)
    for case, own, run, latency_s, rounds in rows:
        if own and latency_s is not None and rounds >= FEWEST_ROUNDS and counts[case] > 1:
            yield Timed(case, own, run, math.log(latency_s))


def _of_outline(outline: Outline, digests: Conditions) -> RecordRows:
    """Return the rows of a run: those that are kept, or what its records say, which is kept then."""
    rows = kept.load(outline)
    if rows is None:
        taken = kept.stamp(outline)
        rows = _rows(outline.records(), digests)
        kept.save(outline, rows, taken)
    return rows


def _rows(records: Iterable[Record], digests: Conditions) -> RecordRows:
    return RecordRows.joined([RecordRows.of(batch, digests) for batch in _batches(records)])


def _batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    rest = iter(records)
    while batch := _next_of(rest):
        yield batch


def _next_of(records: Iterator[Record]) -> list[Record]:
    with without_garbage_collection():
        return list(islice(records, AT_ONCE))
