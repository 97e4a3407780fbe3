"""Robust statistics of rounds: medians with 95 % intervals, and bootstrap draws from which ratios get theirs.

Both take the rounds of a record for independent. Rounds that follow each other see the same disturbances, and a process
has a speed of its own; so the intervals tell how well *this process at this time* is known, and two runs may differ by
more. The gate, which compares revisions, therefore takes the process as its sampling unit.
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
"""Bootstrap draws per record: a 2.5 % tail of a ratio is then known to within 0.7 points."""
OVERSAMPLING = 100
"""Random ranks that each draw is chosen from, once per number of rounds."""
ORDERS = 1024
"""Random orders that are drawn; three of them, one after another, make a record's own."""
FEWEST_ROUNDS = 6
"""With fewer samples not even their extremes enclose the median in 95 of 100 cases: 1 - 2 / 2^5 = 93.75 %."""


class Estimate(NamedTuple):
    """A number and the 95 % interval around it. What is known exactly has an interval of no width; what cannot be told
    from so few samples has an infinite one."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """A number that is counted, defined or read once, not estimated from samples."""
        return cls(value, value, value)

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def is_bounded(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    def scaled(self, factor: float) -> Estimate:
        """The estimate of a positive multiple."""
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
        """The estimates of positive multiples."""
        return Estimates(self.values * factors, self.lows * factors, self.highs * factors)

    def dividing(self, numbers: Floats) -> Estimates:
        """These numbers over the estimates: fewer seconds are more samples, so that the bounds change places. A low
        bound that is not above zero leaves no high one."""
        unbounded = np.where(np.isnan(self.lows), np.nan, math.inf)
        highs = np.divide(numbers, self.lows, out=unbounded, where=self.lows > 0)
        return Estimates(numbers / self.values, numbers / self.highs, highs)


def relative_half_width(estimate: Estimate) -> float:
    """Half the interval's width as a share of the value: 0.01 reads "plus or minus 1 %"."""
    return estimate.width / 2 / abs(estimate.value) if estimate.value else math.inf


def median_interval(samples: Floats, level: float = LEVEL) -> Estimate:
    """The median and its interval between two order statistics; `samples` has shape (rounds,).

    Distribution-free: k samples of n lie below the median with the binomial probability of k, so the interval covers
    the median with *at least* this level. It is infinite where n is too small for any two samples to do so.
    """
    if not len(samples):
        raise ValueError("a median needs at least one sample")
    return median_intervals(samples[None, :], level)[0]


def median_intervals(samples: Floats, level: float = LEVEL) -> Estimates:
    """`median_interval` of n cases with equally many samples, at least one; shape (n, rounds)."""
    ordered = np.sort(samples, axis=1)
    count = samples.shape[1]
    values = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    rank = interval_rank(count, level)
    if rank is None:
        return Estimates(values, np.full(len(values), -math.inf), np.full(len(values), math.inf))
    return Estimates(values, ordered[:, rank], ordered[:, -1 - rank])


@cache
def interval_rank(count: int, level: float = LEVEL) -> int | None:
    """How many of `count` ordered samples to leave out at either end of a median's interval; None: too few samples."""
    tail = (1 - level) / 2
    below = 0.0
    for rank in range(count // 2 + 1):
        below += _binomial_half(count, rank)
        if below > tail:
            return rank - 1 if rank else None
    return None


def bootstrap_medians(samples: Floats, seed: int, draws: int = DRAWS) -> Floats:
    """Medians of `draws` resamples of `samples`, without resampling: shape (draws,), in random order.

    The medians are a Latin hypercube sample: each stands for an equal share of the bootstrap distribution, so that only
    their order, which decides what meets what in a ratio, is left to chance.
    """
    medians: Floats = bootstrap_medians_of_each(samples[None, :], [seed], draws)[0]
    return medians


def bootstrap_medians_of_each(samples: Floats, seeds: Sequence[int], draws: int = DRAWS) -> Floats:
    """`bootstrap_medians` of n cases with equally many samples: shape (n, rounds) to (n, draws). Of a seed, 30 bits
    count."""
    lower, upper = _middle_ranks(samples.shape[1], draws)
    ordered = np.sort(samples, axis=1)
    medians = (ordered[:, lower] + ordered[:, upper]) / 2
    orders = _orders(np.array(seeds, dtype=np.int64), draws)
    return _rows_taken(medians, np.arange(len(medians)), orders)


def _orders(seeds: npt.NDArray[np.int64], draws: int) -> Ranks:
    """An order of the draws for each seed, shape (n, draws). To draw each would take a quarter of the time that the
    metrics of many records take."""
    drawn = _drawn_orders(draws)
    orders: Ranks = drawn[seeds % ORDERS]
    for rest in (seeds // ORDERS, seeds // ORDERS**2):
        orders = _rows_taken(drawn, rest % ORDERS, orders)
    return orders


def _rows_taken(table: npt.NDArray[Number], rows: npt.NDArray[np.integer], columns: Ranks) -> npt.NDArray[Number]:
    """table[rows[i], columns[i, j]], which is faster from a flat table."""
    taken: npt.NDArray[Number] = table.ravel().take(columns + (rows * table.shape[1])[:, None])
    return taken


@cache
def _drawn_orders(draws: int) -> Ranks:
    every = np.tile(np.arange(draws), (ORDERS, 1))
    return np.random.default_rng(draws).permuted(every, axis=1)


@cache
def _middle_ranks(count: int, draws: int) -> tuple[Ranks, Ranks]:
    """Ranks of the two middle values (the same, if `count` is odd) of resamples of `count` samples, evenly spaced
    through their joint distribution; shape (draws,) each.

    A resample picks `count` ranks floor(count U), U uniform. floor is monotone, so its middle ranks come from the
    middle ones of `count` uniforms, which are Beta distributed: no resample needs to be made.
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
    """Probability of `successes` in `count` fair trials; in logs, because 2^-count underflows."""
    log = math.lgamma(count + 1) - math.lgamma(successes + 1) - math.lgamma(count - successes + 1)
    return math.exp(log - count * math.log(2))
