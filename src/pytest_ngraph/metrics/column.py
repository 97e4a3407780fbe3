"""One metric for many scopes at once."""

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
    """One metric of n scopes.

    Attributes:
        estimates: shape (n,); NaN where absent or not yet filled in.
        by_definition: as in `Metric`; shape (n,).
        absent: why there is no estimate, by row.
    """

    estimates: Estimates
    by_definition: Bools
    absent: dict[int, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int, absent: Mapping[int, str] | None = None) -> Column:
        """Return a column without estimates, to be filled in."""
        values, lows, highs = np.full((3, count), np.nan)
        return cls(Estimates(values, lows, highs), np.zeros(count, dtype=np.bool_), dict(absent or {}))

    @property
    def present(self) -> Bools:
        """The rows that have an estimate, or will have one."""
        present = np.ones(len(self.by_definition), dtype=np.bool_)
        present[list(self.absent)] = False
        return present

    def put(self, rows: Rows, estimates: Estimates) -> None:
        """Fill in these rows."""
        self.estimates.values[rows] = estimates.values
        self.estimates.lows[rows] = estimates.lows
        self.estimates.highs[rows] = estimates.highs

    def metric(self, name: str, row: int, scope: Case | Scope) -> Metric:
        """Return one row as the metric of a scope."""
        if row in self.absent:
            return Metric(name, scope, absent=self.absent[row], by_definition=bool(self.by_definition[row]))
        return Metric(name, scope, self.estimates[row], by_definition=bool(self.by_definition[row]))
