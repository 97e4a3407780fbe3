"""Log ratios of many cases at once, as columns: what `pooling` computes of one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pytest_ngraph.gate.pooling import IMPROBABLE, Pooled
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.metrics.student import f_tails, t_tails
from pytest_ngraph.stats import Floats


class PooledColumns(NamedTuple):
    """The fields of `Pooled` of n cases, shape (n,) each."""

    mean: Floats
    standard_error: Floats
    dof: Floats
    launches: Rows

    def p_above(self, limit: float | Floats) -> Floats:
        """As in `Pooled`."""
        return t_tails((self.mean - limit) / self.standard_error, self.dof)

    def p_below(self, limit: float | Floats) -> Floats:
        """As in `Pooled`."""
        return t_tails((limit - self.mean) / self.standard_error, self.dof)

    def take(self, rows: Rows | Bools) -> PooledColumns:
        """Return these rows."""
        return PooledColumns(self.mean[rows], self.standard_error[rows], self.dof[rows], self.launches[rows])

    def replaced(self, rows: Rows, others: PooledColumns) -> PooledColumns:
        """Return the columns with others in place of these rows."""
        copy = PooledColumns(self.mean.copy(), self.standard_error.copy(), self.dof.copy(), self.launches.copy())
        for column, other in zip(copy, others, strict=True):
            column[rows] = other
        return copy

    def of(self, row: int) -> Pooled:
        """Return one row."""
        mean, error, dof, launches = (column[row].item() for column in self)
        return Pooled(mean, error, dof, launches)


class EffectColumns(NamedTuple):
    """Logarithms of n times, or of n times in each of some runs, with their standard errors; of equal shapes."""

    log: Floats
    error: Floats

    def take(self, rows: Rows) -> EffectColumns:
        """Return these cases."""
        return EffectColumns(self.log[..., rows], self.error[..., rows])

    def of(self, runs: int | slice) -> EffectColumns:
        """Return those of some runs."""
        return EffectColumns(self.log[runs], self.error[runs])

    def over(self, other: EffectColumns) -> EffectColumns:
        """Return the logarithms of ratios of times."""
        return EffectColumns(self.log - other.log, np.hypot(self.error, other.error))


class PriorColumns(NamedTuple):
    """The priors of n cases: spread and degrees of freedom, shape (n,), and how many cases they were learned from."""

    spread: Floats
    dof: Floats
    cells: int

    def take(self, rows: Rows) -> PriorColumns:
        """Return these cases."""
        return PriorColumns(self.spread[rows], self.dof[rows], self.cells)


def departures(newcomers: EffectColumns, effects: EffectColumns, seen: Bools, priors: PriorColumns) -> PooledColumns:
    """Return `pooling.departure` of n cases.

    Args:
        newcomers: shape (n,).
        effects: those of the runs, shape (runs, n).
        seen: whether a run counts for a case, shape (runs, n); one or more of each case.
        priors: of each case.
    """
    logs, errors = (np.where(seen, column, 0.0) for column in effects)
    precisions = seen / (priors.spread**2 + errors**2)
    total = precisions.sum(axis=0)
    means = (precisions * logs).sum(axis=0) / total
    squares = (precisions * (logs - means) ** 2).sum(axis=0)
    counts = seen.sum(axis=0)
    own_dofs = counts - 1.0
    trust = np.ones(len(total))
    several = own_dofs > 0
    tails = f_tails(squares[several] / own_dofs[several], own_dofs[several], priors.dof[several])
    trust[several] = np.minimum(1.0, tails / (IMPROBABLE / priors.cells))
    prior_dofs = priors.dof * trust
    dofs = prior_dofs + own_dofs
    scales = (prior_dofs + squares) / dofs
    variances = priors.spread**2 + newcomers.error**2 + 1 / total
    return PooledColumns(newcomers.log - means, np.sqrt(scales * variances), dofs, counts)
