"""Robust statistics of rounds: medians with 95 % intervals, and bootstrap draws for the intervals of ratios.

Neighbouring rounds see the same disturbances, so that they are not independent. `widening` estimates from blocks of
rounds by how much wider an interval must be for that. Each process has a speed of its own, too, which its rounds do not
show. So an interval shows how well *this process at this time* is known, and two runs may differ by more. For this
reason the gate, which compares revisions, takes the process as its sampling unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.intp]
Number = TypeVar("Number", np.float64, np.intp)

LEVEL = 0.95
DRAWS = 500
"""Bootstrap draws per record: enough to know a 2.5 % tail of a ratio to within 0.7 points."""
OVERSAMPLING = 100
"""Random ranks generated for each draw that is kept. This is done once per number of rounds."""
ORDERS = 1024
"""Random orders that are generated. A record's own order is three of them applied one after another."""
BLOCK = 1.5
"""Blocks of n rounds are this times the cube root of n long: they grow with n, and so does their number."""
ROUNDING = 1e-9
"""Errors of rounding that may not move a rank."""
FEWEST_ROUNDS = 6
"""With fewer samples, not even their extremes enclose the median in 95 of 100 cases: 1 - 2 / 2^5 = 93.75 %."""


class Estimate(NamedTuple):
    """A number and the 95 % interval around it.

    An exact number has an interval of width zero. With too few samples the interval is infinite.
    """

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """Return an exact number: one that is counted, defined or read once, not estimated from samples."""
        return cls(value, value, value)

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
    length = round(BLOCK * count ** (1 / 3))
    signs = np.sign(samples - np.median(samples, axis=1, keepdims=True))
    sums = np.cumsum(signs, axis=1)
    blocks = sums[:, length - 1 :].copy()
    blocks[:, 1:] -= sums[:, :-length]
    variances = np.mean(blocks**2, axis=1) / length * count / (count - length)
    freedom = 1.5 * count / length
    widths: Floats = np.sqrt(np.maximum(variances, 1) * (1 + math.sqrt(2 / freedom)))
    return widths


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
    lows, highs = (_stretched(values, ordered[rows, place], beyond) for place in (inner, count - 1 - inner))
    return Estimates(values, lows, highs)


def _stretched(values: Floats, ends: Floats, factors: Floats) -> Floats:
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


def bootstrap_medians(samples: Floats, seed: int, draws: int = DRAWS) -> Floats:
    """Return the medians of `draws` resamples of `samples`, without resampling: shape (draws,), in random order.

    The medians are a Latin hypercube sample: each stands for an equal share of the bootstrap distribution. Only their
    order is random; it decides which draws are paired in a ratio.
    """
    medians: Floats = bootstrap_medians_of_each(samples[None, :], [seed], draws)[0]
    return medians


def bootstrap_medians_of_each(samples: Floats, seeds: Sequence[int], draws: int = DRAWS) -> Floats:
    """Return `bootstrap_medians` of n cases with equally many samples: shape (n, rounds) to (n, draws).

    The lowest 30 bits of a seed are used.
    """
    lower, upper = _middle_ranks(samples.shape[1], draws)
    ordered = np.sort(samples, axis=1)
    medians = (ordered[:, lower] + ordered[:, upper]) / 2
    orders = _orders(np.array(seeds, dtype=np.int64), draws)
    return _rows_taken(medians, np.arange(len(medians)), orders)


def _orders(seeds: npt.NDArray[np.int64], draws: int) -> Ranks:
    """Return an order of the draws for each seed, shape (n, draws).

    The orders are composed of a few generated ones. To generate each would take a quarter of the time in which the
    metrics of many records are computed.
    """
    drawn = _drawn_orders(draws)
    orders: Ranks = drawn[seeds % ORDERS]
    for rest in (seeds // ORDERS, seeds // ORDERS**2):
        orders = _rows_taken(drawn, rest % ORDERS, orders)
    return orders


def _rows_taken(table: npt.NDArray[Number], rows: npt.NDArray[np.integer], columns: Ranks) -> npt.NDArray[Number]:
    """Return table[rows[i], columns[i, j]]. Indexing the flat table is faster."""
    taken: npt.NDArray[Number] = table.ravel().take(columns + (rows * table.shape[1])[:, None])
    return taken


@cache
def _drawn_orders(draws: int) -> Ranks:
    every = np.tile(np.arange(draws), (ORDERS, 1))
    return np.random.default_rng(draws).permuted(every, axis=1)


@cache
def _middle_ranks(count: int, draws: int) -> tuple[Ranks, Ranks]:
    """Return the ranks of the two middle values of resamples of `count` samples; shape (draws,) each.

    They are evenly spaced through their joint distribution, and equal if `count` is odd. A resample picks `count` ranks
    floor(count U), U uniform. floor is monotone, so its middle ranks come from the middle ones of `count` uniforms.
    These are Beta distributed, so that no resample needs to be made.
    """
    random = np.random.default_rng(count)
    size = OVERSAMPLING * draws
    half = (count + 1) // 2
    if count % 2:
        lower = upper = random.beta(half, half, size)
    else:
        lower = random.beta(half, half + 1, size)
        # Given the lower middle uniform, the upper one is the least of the `half` uniforms above it.
        upper = 1 - (1 - lower) * random.random(size) ** (1 / half)
    ranks = np.minimum(np.array([lower, upper]) * count, count - 1).astype(np.intp)
    ranks = ranks[:, np.lexsort((ranks[1], ranks[0]))][:, OVERSAMPLING // 2 :: OVERSAMPLING]
    return ranks[0], ranks[1]


def _binomial_half(count: int, successes: int) -> float:
    """Return the probability of `successes` in `count` fair trials. Computed in logs, because 2^-count underflows."""
    log = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
    return math.exp(log - count * math.log(2))
