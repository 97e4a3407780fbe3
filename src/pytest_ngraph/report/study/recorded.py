"""Recorded runs as frames, read one by one, so that only one run's records are in memory at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.history import Timed, timed
from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.report.study import columns, frames
from pytest_ngraph.store import Run


@dataclass(frozen=True, kw_only=True, eq=False)
class Recorded:
    """Every record of some runs, in the order in which the records were begun.

    Attributes:
        frame: one row per record, with the columns of `columns.RECORDS`.
        cells: the measurements of the same rows.
        machines: with the columns of `columns.MACHINES`.
        times: of the records that say what they depend on.
        profiles: what records keep of their profiles, by the row; most have none.
    """

    frame: pl.DataFrame
    cells: Cells
    machines: pl.DataFrame
    times: Sequence[Timed]
    profiles: Mapping[int, dict[str, Any]]

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Recorded:
        """Read runs, which may come from a generator.

        Of records begun at the same time, the one of the earlier run comes first.
        """
        times: list[Timed] = []
        profiles: list[dict[str, Any]] = []
        parts, machines, cells = [pl.DataFrame(schema=columns.RECORDS)], [pl.DataFrame(schema=columns.MACHINES)], []
        for run in runs:
            cells.append(Cells.of_each(run.records))
            parts.append(frames.records(run.records, cells[-1]))
            machines.append(frames.machine(run))
            times += timed(run.records)
            profiles += [record.profile for record in run.records]
        frame = pl.concat(parts)
        order = np.argsort(frame["started_at"].to_numpy(), kind="stable")
        return cls(
            frame=frame[order],
            cells=Cells.joined(cells).take(order),
            machines=pl.concat(machines).sort("run", maintain_order=True),
            times=times,
            profiles={row: profiles[place] for row, place in enumerate(order) if profiles[place]},
        )

    def newest(self) -> Rows:
        """Return the row of each case's last record."""
        return np.array(list({case: row for row, case in enumerate(self.cells.cases)}.values()), dtype=np.intp)
