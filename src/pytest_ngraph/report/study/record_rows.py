"""Records as rows, a part of a run at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.learned import Conditions
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import columns, frames


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordRows:
    """A row for each of some records.

    Attributes:
        frame: with the columns of `columns.RECORDS`.
        cells: the measurements.
        conditions: digests of what the times depend on (`metrics.learned.Conditions`).
        profiles: what records keep of their profiles, by the row; most have none.
    """

    frame: pl.DataFrame
    cells: Cells
    conditions: Sequence[str]
    profiles: Mapping[int, dict[str, Any]]

    @classmethod
    def of(cls, records: Sequence[Record], digests: Conditions) -> RecordRows:
        """Return the rows of these records."""
        cells = Cells.of_each(records)
        return cls(
            frame=frames.records(records, cells),
            cells=cells,
            conditions=[digests.of(record) for record in records],
            profiles={row: record.profile for row, record in enumerate(records) if record.profile},
        )

    @classmethod
    def joined(cls, parts: list[RecordRows]) -> RecordRows:
        """Return the rows of all parts, one part after another. The list is empty then: else all are held twice."""
        profiles: dict[int, dict[str, Any]] = {}
        conditions = list[str]()
        for part in parts:
            profiles |= {len(conditions) + row: profile for row, profile in part.profiles.items()}
            conditions += part.conditions
        frame = pl.concat([pl.DataFrame(schema=columns.RECORDS), *(part.frame for part in parts)])
        cells = Cells.joined([part.cells for part in parts])
        parts.clear()
        return cls(frame=frame, cells=cells, conditions=conditions, profiles=profiles)
