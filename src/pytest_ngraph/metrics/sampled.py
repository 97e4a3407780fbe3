"""Statistics with their bootstrap draws, many at a time, and the arithmetic that keeps the draws joint."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_ngraph.stats import LEVEL, Estimates, Floats

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
AT_ONCE = 64
"""Statistics that are computed at a time, where that is possible: their draws fit a core's cache."""
GROWTH = 16
"""A growing array has room for one of so many more values."""


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """n statistics with their bootstrap draws.

    Statistics computed from the same parts share the draws of these parts, so that the interval of a ratio accounts for
    the correlation of numerator and denominator.

    Attributes:
        values: shape (n,).
        draws: shape (n, DRAWS).
        known: whether every part had enough rounds for an interval; shape (n,).
    """

    values: Floats
    draws: Floats
    known: Bools

    def __truediv__(self, other: Sampled) -> Sampled:
        return Sampled(self.values / other.values, self.draws / other.draws, self.known & other.known)

    def __sub__(self, other: Sampled) -> Sampled:
        return Sampled(self.values - other.values, self.draws - other.draws, self.known & other.known)

    def log(self) -> Sampled:
        """Return the natural logarithms. The values must be positive."""
        return Sampled(np.log(self.values), np.log(self.draws), self.known)

    def scaled(self, factors: Floats) -> Sampled:
        """Return multiples, each by its own factor."""
        return Sampled(self.values * factors, self.draws * factors[:, None], self.known)

    def take(self, rows: Rows) -> Sampled:
        """Return these rows, in this order."""
        return Sampled(self.values[rows], self.draws[rows], self.known[rows])

    def sums(self, begins: Rows) -> Sampled:
        """Return the sums of the stretches that begin at these rows; each ends where the next begins."""
        return Sampled(
            np.add.reduceat(self.values, begins),
            np.add.reduceat(self.draws, begins, axis=0),
            np.logical_and.reduceat(self.known, begins),
        )

    def estimates(self) -> Estimates:
        """Return the values with the percentiles of their draws, widened where they do not include the value."""
        tail = int(self.draws.shape[1] * (1 - LEVEL) / 2)
        single = self.draws.astype(np.float32)  # sorts five times as fast; draws equal in float32 count as one
        ordered = np.sort(single, axis=1)
        rows = np.arange(len(single))
        low, high = (self.draws[rows, (single == ordered[:, rank, None]).argmax(axis=1)] for rank in (tail, -1 - tail))
        lows, highs = np.minimum(low, self.values), np.maximum(high, self.values)
        return Estimates(self.values, np.where(self.known, lows, -math.inf), np.where(self.known, highs, math.inf))


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
