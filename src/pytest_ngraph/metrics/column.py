"""One metric for many scopes at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pytest_ngraph.case import Case
from pytest_ngraph.metrics.metric import Metric, Scope
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.stats import Estimates, Floats


class Same(NamedTuple):
    """The same reason for each of some rows; `where` has shape (n,)."""

    where: Bools
    reason: str


class Reasons(Mapping[int, str]):
    """Why rows have no estimate, by row: one of few texts, so that a million rows take megabytes.

    Args:
        count: the number of all rows.
        layers: the reasons by row. Of a row that several have, the last one counts.

    Attributes:
        numbers: the number of each row's text; 0 where there is no reason; shape (n,).
        texts: the texts by their numbers.
    """

    def __init__(self, count: int, *layers: Mapping[int, str] | Same) -> None:
        known = {"": 0}
        self.numbers: npt.NDArray[np.int32] = np.zeros(count, dtype=np.int32)
        for layer in layers:
            if isinstance(layer, Same):
                self.numbers[layer.where] = known.setdefault(layer.reason, len(known))
            elif isinstance(layer, Reasons):
                own = np.array([known.setdefault(text, len(known)) for text in layer.texts], dtype=np.int32)
                self.numbers = np.where(layer.numbers, own[layer.numbers], self.numbers)
            elif layer:
                found = [known.setdefault(text, len(known)) for text in layer.values()]
                self.numbers[list(layer)] = found
        self.texts: list[str] = list(known)

    def __getitem__(self, row: int) -> str:
        if not self.numbers[row]:
            raise KeyError(row)
        return self.texts[int(self.numbers[row])]

    def __iter__(self) -> Iterator[int]:
        rows: list[int] = np.flatnonzero(self.numbers).tolist()
        return iter(rows)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.numbers))


@dataclass(frozen=True, eq=False)
class Column:
    """One metric of n scopes.

    Attributes:
        estimates: shape (n,); NaN where absent or not yet filled in.
        by_definition: as in `Metric`; shape (n,).
        absent: why there is no estimate, by row.
        failed: as in `Metric`, by row.
        steepness: as in `Metric`, by row.
    """

    estimates: Estimates
    by_definition: Bools
    absent: Reasons
    failed: Mapping[int, str] = field(default_factory=dict)
    steepness: Mapping[int, float] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int, *absent: Mapping[int, str] | Same) -> Column:
        """Return a column without estimates, to be filled in. `absent` are the layers of `Reasons`."""
        reasons = Reasons(count, *absent)
        if reasons.numbers.all():  # many metrics were asked of no case: their columns take no memory
            values = lows = highs = np.broadcast_to(np.nan, count)
        else:
            values, lows, highs = np.full((3, count), np.nan)
        return cls(Estimates(values, lows, highs), np.zeros(count, dtype=np.bool_), reasons)

    @classmethod
    def exactly(cls, values: Floats, *absent: Mapping[int, str] | Same) -> Column:
        """Return a column of numbers that have no interval, where they are not absent. Its estimates share memory."""
        reasons = Reasons(len(values), *absent)
        known = np.where(reasons.numbers == 0, values, np.nan)
        return cls(Estimates(known, known, known), np.zeros(len(values), dtype=np.bool_), reasons)

    @property
    def present(self) -> Bools:
        """The rows that have an estimate, or will have one."""
        present: Bools = self.absent.numbers == 0
        return present

    def put(self, rows: Rows, estimates: Estimates) -> None:
        """Fill in these rows."""
        if not len(rows):
            return
        self.estimates.values[rows] = estimates.values
        self.estimates.lows[rows] = estimates.lows
        self.estimates.highs[rows] = estimates.highs

    def metric(self, name: str, row: int, scope: Case | Scope) -> Metric:
        """Return one row as the metric of a scope."""
        estimate, absent = (None, self.absent[row]) if row in self.absent else (self.estimates[row], "")
        failed, steepness = self.failed.get(row, ""), self.steepness.get(row, 1.0)
        return Metric(name, scope, estimate, absent, bool(self.by_definition[row]), failed, steepness)
