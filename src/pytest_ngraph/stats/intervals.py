"""Medians of rounds with 95 % intervals. `bootstrap` has draws for the intervals of ratios.

Neighbouring rounds see the same disturbances, so that they are not independent. `widening` estimates from blocks of
rounds by how much wider an interval must be for that. An interval shows how well *this process at this time* is known:
each process has a speed of its own, which its rounds do not show, and which is why the gate samples processes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
BLOCK = 1.5
"""Blocks of n rounds are this times the cube root of n long: they grow with n, and so does their number."""
ROUNDING = 1e-9
"""Errors of rounding that may not move a rank."""
FEWEST_ROUNDS = 6
"""With fewer samples, not even their extremes enclose the median in 95 of 100 cases: 1 - 2 / 2^5 = 93.75 %."""


class Estimate(NamedTuple):
    """A number and its 95 % interval, which has no width if it is exact, and is infinite with too few samples."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """Return an exact number: one that is counted, defined or read once, not estimated from samples."""
        return cls(value, value, value)

    @classmethod
    def with_bounds(cls, value: float, low: float | None, high: float | None) -> Estimate:
        """Return a number with its interval, of which None stands for a bound that is not known, as in JSON."""
        return cls(float(value), -math.inf if low is None else float(low), math.inf if high is None else float(high))

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def is_bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def scaled(self, factor: float) -> Estimate:
        """Return the estimate multiplied by a positive factor."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """n numbers and their intervals, shape (n,) each."""

    values: Floats
    lows: Floats
    highs: Floats

    def __getitem__(self, row: int) -> Estimate:
        return Estimate(float(self.values[row]), float(self.lows[row]), float(self.highs[row]))

    def take(self, rows: npt.NDArray[np.intp]) -> Estimates:
        """Return these rows, in this order."""
        return Estimates(self.values[rows], self.lows[rows], self.highs[rows])

    def scaled(self, factors: Floats) -> Estimates:
        """Return the estimates multiplied by positive factors."""
        return Estimates(self.values * factors, self.lows * factors, self.highs * factors)

    def dividing(self, numbers: Floats) -> Estimates:
        """Return these numbers divided by the estimates. The bounds change places: fewer seconds are more samples.

        Where the low bound is not above zero, the quotient's high bound is infinite.
        """
        unbounded = np.where(np.isnan(self.lows), np.nan, math.inf)
        highs = np.divide(numbers, self.lows, out=unbounded, where=self.lows > 0)
        return Estimates(numbers / self.values, numbers / self.highs, highs)


def quotient(above: Estimate, below: Estimate) -> Estimate:
    """Return the quotient of two positive numbers that were estimated independently, with its interval.

    The interval follows from theirs and has their level (Donner and Zou, "Closed-form confidence intervals for
    functions of the normal mean and standard deviation", 2012). It is infinite where one of theirs is, or where the
    lower bound of the second is not above zero.
    """
    value = above.value / below.value
    if not (above.is_bounded and below.is_bounded and below.low > 0):
        return Estimate(value, -math.inf, math.inf)

    product = above.value * below.value

    def squared(one: float, other: float) -> tuple[float, float]:
        """Return what the formula has for one bound of each, instead of the squares of their values."""
        return one * (2 * above.value - one), other * (2 * below.value - other)

    over, under = squared(above.low, below.high)
    low = over / (product + math.sqrt(max(0.0, product**2 - over * under)))
    over, under = squared(above.high, below.low)
    return Estimate(value, low, (product + math.sqrt(max(0.0, product**2 - over * under))) / under)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two numbers that were estimated independently, with its interval.

    It follows from theirs and has their level (Donner and Zou, 2012).
    """
    value = one.value - other.value
    below = math.hypot(one.value - one.low, other.high - other.value)
    above = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value, value - below, value + above)


def relative_half_width(estimate: Estimate) -> float:
    """Return half the interval's width as a share of the value: 0.01 means "plus or minus 1 %"."""
    return estimate.width / 2 / abs(estimate.value) if estimate.value else math.inf


def intervals_of_rounds(samples: Floats) -> Estimates:
    """Return the medians of n cases and their 95 % intervals, for rounds that may be correlated; shape (n, rounds).

    The rounds are in the order in which they were timed, and positive.
    """
    return median_intervals(samples, widths=widening(samples))


def widening(samples: Floats) -> Floats:
    """Return by which factor the error of each median exceeds that of independent rounds; shape (n, rounds) to (n,).

    The error of a median is that of the number of rounds below it. Its variance comes from the sums of overlapping
    blocks of the rounds' signs, which is consistent whatever the correlation (Meketon and Schmeiser, "Overlapping batch
    means: something for nothing?", 1984). Few rounds show little of their correlation, and those that show the least
    would be the first to look precise. So the estimate is raised by its own standard error. The factor is 1 or more.
    """
    count = samples.shape[1]
    if count < FEWEST_ROUNDS:
        return np.ones(len(samples))
    length = block_length(count)
    signs = np.sign(samples - np.median(samples, axis=1, keepdims=True))
    blocks = block_sums(signs, length)[:, length - 1 : count]
    variances = np.mean(blocks**2, axis=1) / length * count / (count - length)
    freedom = 1.5 * count / length
    widths: Floats = np.sqrt(np.maximum(variances, 1) * (1 + math.sqrt(2 / freedom)))
    return widths


def block_length(count: int) -> int:
    """Return how many of `count` rounds are a block."""
    return round(BLOCK * math.pow(count, 1 / 3))


def block_sums(rounds: Floats, length: int) -> Floats:
    """Return the sums of all overlapping blocks, those at the ends in part: shape (n, rounds + length - 1)."""
    sums = np.cumsum(np.pad(rounds, ((0, 0), (length, length - 1))), axis=1)
    blocks: Floats = sums[:, length:] - sums[:, :-length]
    return blocks


def median_interval(samples: Floats, level: float = LEVEL) -> Estimate:
    """Return the median and its interval between two order statistics; `samples` has shape (n,).

    Distribution-free: the number of independent samples below the median is binomial, so the interval covers the median
    with *at least* this level. It is infinite where there are too few samples for any two of them to reach the level.
    """
    if not len(samples):
        raise ValueError("a median needs at least one sample")
    return median_intervals(samples[None, :], level)[0]


def median_intervals(samples: Floats, level: float = LEVEL, widths: Floats | None = None) -> Estimates:
    """Return `median_interval` of n cases with equally many samples, at least one; shape (n, rounds).

    Args:
        samples: of each case; positive if there are widths.
        level: confidence of the intervals.
        widths: factors of 1 or more by which the ends lie further from the middle, counted in samples; shape (n,).
            Beyond the last sample, the distance goes on in proportion, in logarithms.
    """
    ordered = np.sort(samples, axis=1)
    count = samples.shape[1]
    values = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    rank = interval_rank(count, level)
    if rank is None:
        return Estimates(values, np.full(len(values), -math.inf), np.full(len(values), math.inf))
    if widths is None:
        return Estimates(values, ordered[:, rank], ordered[:, -1 - rank])
    reaches = (count / 2 - rank) * widths
    ranks = np.floor(count / 2 - reaches + ROUNDING).astype(np.intp)
    rows, inner = np.arange(len(values)), np.maximum(ranks, 0)
    beyond = np.where(ranks < 0, reaches / (count / 2), 1.0)
    lows, highs = (stretched(values, ordered[rows, place], beyond) for place in (inner, count - 1 - inner))
    return Estimates(values, lows, highs)


def stretched(values: Floats, ends: Floats, factors: Floats) -> Floats:
    """Return the ends with their distances from positive values multiplied, in logarithms."""
    shares = np.divide(ends, values, out=np.ones_like(values), where=values > 0)
    stretched: Floats = np.where(factors == 1, ends, values * shares**factors)
    return stretched


@cache
def interval_rank(count: int, level: float = LEVEL) -> int | None:
    """Return how many of `count` ordered samples to leave out at either end of a median's interval.

    None means too few samples for an interval.
    """
    tail = (1 - level) / 2
    below = 0.0
    for rank in range(count // 2 + 1):
        below += _binomial_half(count, rank)
        if below > tail:
            return rank - 1 if rank else None
    return None


def without_infinities(data: Any) -> Any:
    """Return data as JSON has them: lists for tuples, and null for numbers that are not finite."""
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, dict):
        return {name: without_infinities(value) for name, value in data.items()}
    return [without_infinities(value) for value in data] if isinstance(data, list | tuple) else data


def _binomial_half(count: int, successes: int) -> float:
    """Return the probability of `successes` in `count` fair trials. Computed in logs, because 2^-count underflows."""
    log = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
    return math.exp(log - count * math.log(2))
