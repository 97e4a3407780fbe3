"""Throughputs and their ratios with bootstrap draws, which are most of the work on many records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pytest_ngraph.metrics.sampled import Bools, Rows, Sampled, tails, with_bounds
from pytest_ngraph.stats import Estimates, Floats
from pytest_ngraph.stats.bootstrap import Draws


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """n positive statistics with bootstrap draws, as logarithms: the draws of a ratio are differences.

    Attributes:
        values: shape (n,).
        logs: logarithm of each draw over its value; shape (n, DRAWS).
        known: whether every part had enough rounds for an interval; shape (n,).
    """

    values: Floats
    logs: Draws
    known: Bools

    def __truediv__(self, other: Rates) -> Rates:
        return Rates(self.values / other.values, self.logs - other.logs, self.known & other.known)

    def scaled(self, factors: Floats) -> Rates:
        """Return multiples, each by its own factor, which must be positive."""
        return Rates(self.values * factors, self.logs, self.known)

    def take(self, rows: Rows) -> Rates:
        """Return these rows, in this order."""
        return Rates(self.values[rows], self.logs[rows], self.known[rows])

    def log(self) -> Sampled:
        """Return the natural logarithms."""
        return Sampled(np.log(self.values), self.logs, self.known)

    def linear(self) -> Sampled:
        """Return the same statistics, which can be added then."""
        return Sampled(self.values, self.values.astype(np.float32)[:, None] * np.expm1(self.logs), self.known)

    def estimates(self) -> Estimates:
        """Return the values with the percentiles of their draws, widened where they do not include the value."""
        low, high = (self.values * np.exp(tail) for tail in tails(self.logs))
        return with_bounds(self.values, low, high, self.known)


def logs_of_rates(seconds: Floats, draws: Draws) -> Draws:
    """Return the logarithms of rates over their values, from draws of the seconds, whose memory they take."""
    np.divide(seconds.astype(np.float32)[:, None], draws, out=draws)
    return np.log(draws, out=draws)
