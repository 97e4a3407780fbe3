"""The raw rounds of records, left in the files that keep them: in memory they take most of a long run's space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
import polars as pl

from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.report.study import columns
from pytest_ngraph.store.lines import changed

STAMP = "pytest_ngraph"
"""Where a file says from which code and which byte of a journal on it was made."""
MOST_OPEN = 32
"""Files whose rounds are in memory at a time, where the order of the records goes back and forth between files."""


@dataclass(frozen=True, eq=False)
class InFile:
    """Rounds in a Parquet file with the columns of `columns.ROUNDS`.

    Attributes:
        stamp: its metadata `STAMP`. A file that has it, too, begins with the same rows, and may have more.
        count: the number of its first rows among which are those that count.
        rows: those that count; None for all of these.
    """

    path: Path
    stamp: str
    count: int
    rows: Rows | None

    def read(self) -> pl.DataFrame:
        """Return the rounds. Raise `StoreError` where they are no longer there."""
        try:
            found = pl.read_parquet(self.path, columns=list(columns.ROUNDS)).head(self.count)
            is_same = pl.read_parquet_metadata(self.path).get(STAMP) == self.stamp and found.height == self.count
        except (OSError, pl.exceptions.PolarsError):
            is_same = False
        if not is_same:
            raise changed(self.path)
        return found if self.rows is None else found[self.rows]


@dataclass(frozen=True, eq=False)
class InMemory:
    """Rounds, as a frame with the columns of `columns.ROUNDS`."""

    frame: pl.DataFrame

    def read(self) -> pl.DataFrame:
        """Return the rounds."""
        return self.frame


@dataclass(frozen=True, eq=False)
class Rounds:
    """The rounds of records, in parts.

    Attributes:
        parts: the parts.
        counts: the number of records of each part.
        order: which record comes first, second and so on, of those of all parts one after another.
    """

    parts: Sequence[InFile | InMemory]
    counts: Sequence[int]
    order: Rows

    @classmethod
    def of(cls, part: InFile | InMemory, count: int) -> Rounds:
        """Return the rounds of one part with this number of records."""
        return cls([part], [count], np.arange(count))

    @classmethod
    def joined(cls, every: Sequence[Rounds]) -> Rounds:
        """Return all of these, one after another."""
        begins = accumulate((len(each.order) for each in every), initial=0)
        return cls(
            parts=[part for each in every for part in each.parts],
            counts=[count for each in every for count in each.counts],
            order=np.concatenate(
                [np.empty(0, dtype=np.intp), *(each.order + begin for each, begin in zip(every, begins, strict=False))]
            ),
        )

    def take(self, rows: Rows) -> Rounds:
        """Return the rounds of these records, in this order."""
        return Rounds(self.parts, self.counts, self.order[rows])

    def frames(self, at_once: int) -> Iterator[pl.DataFrame]:
        """Yield the rounds of this number of records at a time. Raises `StoreError` where a file was changed."""
        ends = np.cumsum(np.array(self.counts, dtype=np.intp))
        read = lru_cache(MOST_OPEN)(lambda number: self.parts[number].read())
        for begin in range(0, len(self.order), at_once):
            places = self.order[begin : begin + at_once]
            owners = np.searchsorted(ends, places, side="right")
            stretches = groupby(range(len(places)), key=owners.tolist().__getitem__)
            yield pl.concat(
                read(number)[places[list(stretch)] - (ends[number] - self.counts[number])]
                for number, stretch in stretches
            )
