"""Recorded runs as frames, read some records at a time: as objects, all of them would take gigabytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.metrics.cells import UNCHANGED, Cells
from pytest_ngraph.metrics.learned import Conditions, Timed
from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.report.study import columns, frames, kept
from pytest_ngraph.report.study.record_rows import RecordRows
from pytest_ngraph.report.study.rounds import Rounds
from pytest_ngraph.stats import FEWEST_ROUNDS
from pytest_ngraph.store import Outline, Run


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """Every record of some runs, in the order in which the records were begun.

    Attributes:
        frame: one row per record, with the columns of `columns.RECORDS`.
        rounds: the raw rounds of the same rows.
        deviations: of the same rows, as in `RecordRows`.
        cells: the measurements of the same rows.
        machines: with the columns of `columns.MACHINES`.
        times: of the records that say what they depend on, of cases that have several.
        profiles: what records keep of their profiles, by the row; most have none.
        unmeasured: number of cases without a record that runs which did not come to their end would have measured.
    """

    frame: pl.DataFrame
    rounds: Rounds
    deviations: pl.Series
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
        machines = [pl.DataFrame(schema=columns.MACHINES)]

        def parts() -> Iterator[RecordRows]:
            for each in runs:
                run = each.run if isinstance(each, Outline) else each
                devices: dict[str, None] = {}
                for rows in _rows(each, digests):
                    devices |= dict.fromkeys(rows.devices)
                    yield rows
                machines.append(frames.machine(run, devices))
                if not run.whole:
                    planned.update(run.planned)

        joined = RecordRows.joined(parts())
        frame, cells = joined.frame, joined.cells
        order = np.argsort(frame["started_at"].to_numpy(), kind="stable")
        ordered = cells.take(order)
        is_same = ordered is cells
        return cls(
            frame=frame if is_same else frame[order],
            rounds=joined.rounds if is_same else joined.rounds.take(order),
            deviations=joined.deviations if is_same else joined.deviations[order],
            cells=ordered,
            machines=pl.concat(machines).sort("run", maintain_order=True),
            times=list(_times(frame, cells, joined.conditions)),
            profiles={
                row: joined.profiles[place] for row, place in enumerate(order.tolist()) if place in joined.profiles
            },
            unmeasured=len(planned.difference(frame["case"])) if planned else 0,
        )

    def newest(self) -> Rows:
        """Return the row of each case's last record. One that a gate left out as unchanged replaces no other."""
        if _are_different(self.frame):
            return np.arange(self.frame.height)
        last = {case: row for row, case in enumerate(self.cells.cases)}
        of_rows = enumerate(zip(self.cells.cases, self.cells.problems, strict=True))
        last |= {case: row for row, (case, problem) in of_rows if problem != UNCHANGED}
        return np.array(list(last.values()), dtype=np.intp)


def _times(frame: pl.DataFrame, cells: Cells, conditions: Sequence[str]) -> Iterator[Timed]:
    """Yield the times of which two may be compared: alone, a case shows nothing of how much its runs differ."""
    if _are_different(frame):
        return
    counts = Counter(cells.cases)
    rows = zip(cells.cases, conditions, frame["run"], frame["latency_s"], frame["rounds"], strict=True)
    for case, own, run, latency_s, rounds in rows:
        if own and latency_s is not None and rounds >= FEWEST_ROUNDS and counts[case] > 1:
            yield Timed(case, own, run, math.log(latency_s))


def _are_different(frame: pl.DataFrame) -> bool:
    """Return whether no two records are of one case: their cases have different names."""
    return frame["case"].n_unique() == frame.height


def _rows(run: Run | Outline, digests: Conditions) -> Iterator[RecordRows]:
    return kept.read(run, digests) if isinstance(run, Outline) else kept.made_of(iter(run.records), digests)
