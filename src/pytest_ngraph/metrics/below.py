"""Of many groups of cases, which cases are surely below the best of their group: for all groups at once.

It answers for each case what `between.is_surely_above` answers for one pair, in arrays.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from pytest_ngraph.metrics.between import MANY, NORMAL, Between, Spread, Uncertainty
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.metrics.student import t_quantile
from pytest_ngraph.stats import LEVEL, Estimates, Floats


def surely_below(rates: Estimates, sessions: Rows, steepness: Floats, begins: Rows, between: Between) -> Bools:
    """Return of each case whether the best one of its group is surely above it, as `between.surely_above` has it.

    Args:
        rates: throughputs, group by group, the highest first; a bound that is not known is 0 or infinite; shape (n,).
        sessions: a number for the session in which each was measured; shape (n,).
        steepness: by how many percent each changes where a call takes 1 % longer; shape (n,).
        begins: where each group begins.
    """
    counts = np.diff(begins, append=len(sessions))
    best = np.repeat(begins, counts)
    levels = (1 - LEVEL) / np.maximum(1, np.repeat(counts, counts) - 1)
    values, of_best = rates.values, rates.values[best]
    compared = np.flatnonzero((values > 0) & (values < of_best))
    below = np.zeros(len(values), dtype=np.bool_)
    for own, spread in _spreads(compared, sessions != sessions[best], steepness, steepness[best], between):
        distances = np.log(of_best[own] / values[own])
        within = np.hypot(_distances(of_best[own], rates.lows[best[own]]), _distances(values[own], rates.highs[own]))
        below[own] = _excludes(within / NORMAL, spread, distances, levels[own])
    return below


def _spreads(rows: Rows, is_other: Bools, own: Floats, of_best: Floats, between: Between) -> list[tuple[Rows, Spread]]:
    """Return the spread of the ratios of these rows to their best, with the rows that it is the same of.

    Args:
        is_other: whether the best one was measured in another session.
        own, of_best: steepness of each row, and of its best.
    """
    found = []
    pairs = np.unique(of_best[rows] + 1j * own[rows])  # complex numbers are sorted far faster than rows of two
    for (best, its), apart in product(zip(pairs.real.tolist(), pairs.imag.tolist(), strict=True), (False, True)):
        alike = rows[(of_best[rows] == best) & (own[rows] == its) & (is_other[rows] == apart)]
        found.append((alike, between.of((best, -its), ("one", "other") if apart else ())))
    return found


def _excludes(within: Floats, spread: Spread, distances: Floats, levels: Floats) -> Bools:
    """Return `Uncertainty.excludes` of each distance at its level; only what is near it takes a p-value."""
    deviations = np.sqrt(within**2 + spread.deviation**2)
    usual = (deviations > 0) & np.isfinite(deviations) & (distances > 0) & np.isfinite(distances)
    known, number = np.unique(levels, return_inverse=True)
    far, near = (
        np.array([t_quantile(level, dof) for level in known.tolist()])[number] * deviations
        for dof in (min(MANY, spread.dof), MANY)
    )
    excluded = usual & (distances > far)
    unclear = np.isfinite(deviations) & ~excluded & (~usual | (distances > near))
    for row in np.flatnonzero(unclear).tolist():
        excluded[row] = Uncertainty(float(within[row]), spread).p(float(distances[row])) <= levels[row]
    return excluded


def _distances(values: Floats, bounds: Floats) -> Floats:
    """Return `between.log_distance` of each value and bound."""
    known = (bounds > 0) & np.isfinite(bounds)
    distances = np.full(len(values), np.inf)
    distances[known] = np.abs(np.log(bounds[known] / values[known]))
    return distances
