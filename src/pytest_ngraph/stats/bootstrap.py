"""Bootstrap draws of medians, for the intervals of what is computed from several cases: ratios, fits.

Rounds are correlated, and those of cases that were timed in turn saw the same disturbances; both is kept in the draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from pytest_ngraph.stats.intervals import Floats, block_length, block_sums, stretched, widening

Ranks = npt.NDArray[np.intp]
Draws = npt.NDArray[np.float32]
"""Shape (n, draws). Seven digits are far more than draws are sure of, and take half the memory and time of sixteen."""
Number = TypeVar("Number", np.float32, np.intp)

DRAWS = 500
"""Bootstrap draws per record: enough to know a 2.5 % tail of a ratio to within 0.7 points."""
AT_ONCE = 32
"""Cases whose draws are made at a time: what that takes stays in a core's cache, and is several times as fast."""
ORDERS = 1024
"""Random orders that are generated. A record's own order is three of them applied one after another."""


def bootstrap_medians_of_each(
    samples: Floats, seeds: Sequence[int], draws: int = DRAWS, widths: Floats | None = None
) -> Draws:
    """Return draws of the medians of n cases with equally many rounds: shape (n, rounds) to (n, draws).

    Cases with equal seeds were timed in turn: their rounds of one cycle saw the same disturbances. So their draws are
    joint, and what slows all of them in a cycle cancels in a ratio. This also holds for the first cycles of a case that
    has more rounds. Cases with different seeds are independent.

    This is the dependent wild bootstrap (Shao, "The dependent wild bootstrap", 2010): no round is drawn again, so that
    neighbours stay correlated. Each block of rounds gets a normal deviate, the same for all cases. The sum of the
    signs in the blocks, weighted by these, shows how many ranks above the median a draw lies.

    Args:
        samples: of each case; positive.
        seeds: the lowest 30 bits of each are used.
        widths: factors by which the error of each median exceeds that of independent rounds; `widening` if None.
    """
    count = samples.shape[1]
    ordered = np.sort(samples, axis=1)
    medians = (ordered[:, (count - 1) // 2, None] + ordered[:, count // 2, None]) / 2
    blocks = block_sums(np.sign(samples - medians), block_length(count))
    sizes = np.linalg.norm(blocks, axis=1)
    errors = (widening(samples) if widths is None else widths) * math.sqrt(count) / 2
    blocks *= np.divide(errors, sizes, out=np.zeros_like(errors), where=sizes > 0)[:, None]
    deviates, numbers = _deviates(blocks.shape[1], draws), np.array(seeds, dtype=np.int64)
    every, middles, weighted = (each.astype(np.float32) for each in (ordered, medians, blocks))
    found = np.empty((len(samples), draws), dtype=np.float32)
    for begin in range(0, len(samples), AT_ONCE):
        own = slice(begin, begin + AT_ONCE)
        drawn = _at_ranks(every[own], middles[own], weighted[own] @ deviates)
        found[own] = _rows_taken(drawn, np.arange(len(drawn)), _orders(numbers[own], draws))
    return found


def _at_ranks(ordered: Draws, medians: Draws, shifts: Draws) -> Draws:
    """Return what lies this many ranks above the medians, between samples and beyond the extremes in proportion.

    Args:
        ordered: samples in rising order, shape (n, rounds).
        medians: shape (n, 1).
        shifts: ranks, shape (n, draws).
    """
    last = ordered.shape[1] - 1
    if not last:
        return np.repeat(ordered, shifts.shape[1], axis=1)
    ranks = shifts + np.float32(last / 2)
    np.clip(ranks, 0, last, out=ranks)
    lower = np.minimum(ranks.astype(np.intp), last - 1)
    ranks -= lower
    lower += (np.arange(len(ordered)) * (last + 1))[:, None]
    below = ordered.ravel().take(lower)
    found: Draws = ordered.ravel()[1:].take(lower)
    found -= below
    found *= ranks
    found += below
    beyond = np.abs(shifts) > last / 2
    if beyond.any():
        factors = 2 * np.abs(shifts[beyond]) / last
        found[beyond] = stretched(np.broadcast_to(medians, shifts.shape)[beyond], found[beyond], factors)
    return found


def _deviates(count: int, draws: int) -> Draws:
    """Return standard normal deviates, shape (count, draws): the first rows are the same for any count."""
    deviates: Draws = _drawn_deviates(1 << (count - 1).bit_length(), draws)[:count]
    return deviates


@lru_cache(maxsize=4)
def _drawn_deviates(count: int, draws: int) -> Draws:
    return np.random.default_rng(draws).standard_normal((count, draws)).astype(np.float32)


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
