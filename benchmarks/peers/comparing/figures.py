"""Statistics of the tables."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from pytest_ngraph.stats import LEVEL, Estimate, Floats, median_interval


def median(values: npt.ArrayLike) -> float:
    return float(np.median(np.asarray(values, dtype=np.float64)))


def coefficient_of_variation(values: npt.ArrayLike) -> Floats:
    """Return the standard deviation (with n - 1) over the mean, along the last axis; shape (..., n) to (...)."""
    given = np.asarray(values, dtype=np.float64)
    spread: Floats = np.std(given, axis=-1, ddof=1) / np.mean(given, axis=-1)
    return spread


def root_mean_square(values: npt.ArrayLike) -> float:
    """Return the root mean square: one spread for those of several networks."""
    return float(np.sqrt(np.mean(np.square(np.asarray(values, dtype=np.float64)))))


def spread_ratio(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Estimate:
    """Return the spread of our sessions over that of theirs, with its interval; shape (networks, sessions) each.

    A spread is the root mean square of the networks' coefficients of variation. The interval assumes that sessions are
    normally distributed: then the logarithm of a spread with f degrees of freedom has a variance of 1 / 2f. Networks
    that spread more than others have more weight, which leaves fewer degrees of freedom (Satterthwaite).
    """
    spreads, variances = [], []
    for sessions in (np.asarray(each, dtype=np.float64) for each in (ours, theirs)):
        squares = coefficient_of_variation(sessions) ** 2
        spreads.append(math.sqrt(np.mean(squares)))
        freedom = (sessions.shape[-1] - 1) * np.sum(squares) ** 2 / np.sum(squares**2)
        variances.append(1 / (2 * freedom))
    ratio = spreads[0] / spreads[1]
    factor = math.exp(NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(sum(variances)))
    return Estimate(ratio, ratio / factor, ratio * factor)


def paired_ratio(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> Estimate:
    """Return the median of ours over theirs, pair by pair, with its interval; shape (pairs,) each.

    With fewer than six pairs the interval is infinite.
    """
    return median_interval(np.asarray(ours, dtype=np.float64) / np.asarray(theirs, dtype=np.float64))


def slope(sizes: npt.ArrayLike, costs: npt.ArrayLike) -> float:
    """Return the least-squares slope in logarithms: 1 is in proportion, 2 with the square; shape (n,) each, n >= 2."""
    return float(np.polyfit(np.log(np.asarray(sizes)), np.log(np.asarray(costs)), 1)[0])


def share_within(values: npt.ArrayLike, center: float, tolerance: float) -> float:
    """Return the share of the values that differ from the center by at most this share of it."""
    return float(np.mean(np.abs(np.asarray(values, dtype=np.float64) / center - 1) <= tolerance))
