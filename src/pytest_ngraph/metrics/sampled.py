"""Statistics with their bootstrap draws, many at a time, and the arithmetic that keeps the draws joint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_ngraph.stats import LEVEL, Estimates, Floats
from pytest_ngraph.stats.bootstrap import Draws

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
AT_ONCE = 256
"""Statistics that are computed at a time, where that is possible: their draws fit a core's cache."""
GROWTH = 16
"""A growing array has room for one of so many more values."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """n statistics with their bootstrap draws.

    Statistics computed from the same parts share the draws of these parts, so that the interval of a difference
    accounts for the correlation of both.

    Attributes:
        values: shape (n,).
        deviations: each draw minus the value; shape (n, DRAWS).
        known: whether every part had enough rounds for an interval; shape (n,).
    """

    values: Floats
    deviations: Draws
    known: Bools

    def __sub__(self, other: Sampled) -> Sampled:
        return Sampled(self.values - other.values, self.deviations - other.deviations, self.known & other.known)

    def scaled(self, factors: Floats) -> Sampled:
        """Return multiples, each by its own factor."""
        own = factors.astype(self.deviations.dtype)
        return Sampled(self.values * factors, self.deviations * own[:, None], self.known)

    def take(self, rows: Rows) -> Sampled:
        """Return these rows, in this order."""
        return Sampled(self.values[rows], self.deviations[rows], self.known[rows])

    def sums(self, begins: Rows) -> Sampled:
        """Return the sums of the stretches that begin at these rows; each ends where the next begins."""
        return Sampled(
            np.add.reduceat(self.values, begins),
            np.add.reduceat(self.deviations, begins, axis=0),
            np.logical_and.reduceat(self.known, begins),
        )

    def estimates(self) -> Estimates:
        """Return the values with the percentiles of their draws, widened where they do not include the value."""
        low, high = (self.values + tail for tail in tails(self.deviations))
        return with_bounds(self.values, low, high, self.known)


def tails(draws: Draws) -> tuple[Floats, Floats]:
    """Return the percentiles of draws between which an interval reaches; shape (n, draws) to (n,) each."""
    rank = int(draws.shape[1] * (1 - LEVEL) / 2)
    ordered = np.sort(draws, axis=1)
    return ordered[:, rank].astype(np.float64), ordered[:, -1 - rank].astype(np.float64)


def with_bounds(values: Floats, low: Floats, high: Floats, known: Bools) -> Estimates:
    """Return values with these bounds where they are known, widened where they do not include the value."""
    lows, highs = np.minimum(low, values), np.maximum(high, values)
    return Estimates(values, np.where(known, lows, -math.inf), np.where(known, highs, math.inf))


def in_cache(rows: Rows, at_once: int = AT_ONCE) -> Iterator[Rows]:
    """Yield the rows, this many at a time."""
    for begin in range(0, len(rows), at_once):
        yield rows[begin : begin + at_once]


class Growing:
    """An array to which values are added, without having all of them twice."""

    def __init__(self) -> None:
        self._values: Floats = np.empty(0)
        self._count = 0

    def add(self, values: Floats) -> None:
        """Add values behind those before."""
        count = self._count + len(values)
        if count > len(self._values):
            self._values.resize(count + count // GROWTH, refcheck=False)
        self._values[self._count : count] = values
        self._count = count

    def whole(self) -> Floats:
        """Return all values. No more are added."""
        self._values.resize(self._count, refcheck=False)
        return self._values
