"""Statistics with their bootstrap draws, many at a time, and the arithmetic that keeps the draws joint."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_ngraph.stats import LEVEL, Estimates, Floats

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """n statistics: values of shape (n,) and their bootstrap draws, shape (n, DRAWS). What is computed from the same
    parts shares their draws, so that a ratio's interval knows what its numerator and denominator have in common.

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
        """The natural logarithms of something positive."""
        return Sampled(np.log(self.values), np.log(self.draws), self.known)

    def scaled(self, factors: Floats) -> Sampled:
        """Multiples, each by its own factor."""
        return Sampled(self.values * factors, self.draws * factors[:, None], self.known)

    def take(self, rows: Rows) -> Sampled:
        """These, in this order."""
        return Sampled(self.values[rows], self.draws[rows], self.known[rows])

    def sums(self, begins: Rows) -> Sampled:
        """The sums of stretches that begin at these rows; each ends where the next begins."""
        return Sampled(
            np.add.reduceat(self.values, begins),
            np.add.reduceat(self.draws, begins, axis=0),
            np.logical_and.reduceat(self.known, begins),
        )

    def estimates(self) -> Estimates:
        """The values within the percentiles of their draws, widened to the value where a skewed bootstrap misses it."""
        tail = int(self.draws.shape[1] * (1 - LEVEL) / 2)
        single = self.draws.astype(np.float32)  # sorted five times as fast; draws that it cannot tell apart are one
        ordered = np.sort(single, axis=1)
        rows = np.arange(len(single))
        low, high = (self.draws[rows, (single == ordered[:, rank, None]).argmax(axis=1)] for rank in (tail, -1 - tail))
        lows, highs = np.minimum(low, self.values), np.maximum(high, self.values)
        return Estimates(self.values, np.where(self.known, lows, -math.inf), np.where(self.known, highs, math.inf))
