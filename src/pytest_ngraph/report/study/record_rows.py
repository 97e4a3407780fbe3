"""Records as rows, a part of a run at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.learned import Conditions
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import columns, frames
from pytest_ngraph.report.study.rounds import InMemory, Rounds


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordRows:
    """A row for each of some records.

    Attributes:
        frame: with the columns of `columns.RECORDS`.
        rounds: their raw rounds.
        deviations: standard deviation of each one's rounds, as throughput; null with fewer than two.
        cells: the measurements.
        conditions: digests of what the times depend on (`metrics.learned.Conditions`).
        profiles: what records keep of their profiles, by the row; most have none.
    """

    frame: pl.DataFrame
    rounds: Rounds
    deviations: pl.Series
    cells: Cells
    conditions: Sequence[str]
    profiles: Mapping[int, dict[str, Any]]

    @classmethod
    def of(cls, records: Sequence[Record], digests: Conditions) -> RecordRows:
        """Return the rows of these records."""
        cells = Cells.of_each(records)
        frame, rounds = frames.records(records, cells), frames.rounds(records)
        return cls(
            frame=frame,
            rounds=Rounds.of(InMemory(rounds), frame.height),
            deviations=frames.deviations(frame["batch_size"], rounds),
            cells=cells,
            conditions=[digests.of(record) for record in records],
            profiles={row: record.profile for row, record in enumerate(records) if record.profile},
        )

    @property
    def devices(self) -> list[str]:
        """The devices, in the order of their first record."""
        return self.frame["device"].unique(maintain_order=True).to_list()

    @classmethod
    def joined(cls, parts: Iterable[RecordRows]) -> RecordRows:
        """Return the rows of all parts, one part after another. Parts may come from a generator, and are not kept."""
        profiles: dict[int, dict[str, Any]] = {}
        conditions = list[str]()
        frame, deviations = [pl.DataFrame(schema=columns.RECORDS)], [pl.Series(dtype=pl.Float64)]
        rounds = list[Rounds]()

        def cells() -> Iterator[Cells]:
            """Yield the cells of each part, when everything else of it was added."""
            for part in parts:
                profiles.update({len(conditions) + row: profile for row, profile in part.profiles.items()})
                conditions.extend(part.conditions)
                frame.append(part.frame)
                deviations.append(part.deviations)
                rounds.append(part.rounds)
                yield part.cells

        joined = Cells.joined(cells())
        return cls(
            frame=pl.concat(frame),
            rounds=Rounds.joined(rounds),
            deviations=pl.concat(deviations),
            cells=joined,
            conditions=conditions,
            profiles=profiles,
        )
