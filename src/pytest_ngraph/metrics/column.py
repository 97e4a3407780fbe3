"""One metric of many scopes at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pytest_ngraph.case import Case
from pytest_ngraph.metrics.metric import Metric, Scope
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.stats import Estimates


@dataclass(frozen=True, eq=False)
class Column:
    """estimates: shape (n,), NaN where absent. absent: why, by row. by_definition: as of `Metric`, shape (n,)."""

    estimates: Estimates
    by_definition: Bools
    absent: dict[int, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int, absent: Mapping[int, str] | None = None) -> Column:
        """One to be filled."""
        values, lows, highs = np.full((3, count), np.nan)
        return cls(Estimates(values, lows, highs), np.zeros(count, dtype=np.bool_), dict(absent or {}))

    @property
    def present(self) -> Bools:
        """Where there is an estimate, or will be."""
        present = np.ones(len(self.by_definition), dtype=np.bool_)
        present[list(self.absent)] = False
        return present

    def put(self, rows: Rows, estimates: Estimates) -> None:
        """Fill in these rows."""
        self.estimates.values[rows] = estimates.values
        self.estimates.lows[rows] = estimates.lows
        self.estimates.highs[rows] = estimates.highs

    def metric(self, name: str, row: int, scope: Case | Scope) -> Metric:
        """One row as a metric of a scope."""
        if row in self.absent:
            return Metric(name, scope, absent=self.absent[row], by_definition=bool(self.by_definition[row]))
        return Metric(name, scope, self.estimates[row], by_definition=bool(self.by_definition[row]))
