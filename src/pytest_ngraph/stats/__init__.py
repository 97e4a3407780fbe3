"""Robust statistics of rounds, which every room uses: medians with 95 % intervals, and draws of them.

Open `intervals.py`; `bootstrap.py` has draws for the intervals of what is computed from several cases.
"""

from pytest_ngraph.stats.intervals import (
    FEWEST_ROUNDS,
    LEVEL,
    ROUNDING,
    Estimate,
    Estimates,
    Floats,
    block_sums,
    difference,
    intervals_of_rounds,
    median_interval,
    quotient,
    relative_half_width,
    without_infinities,
)

__all__ = [
    "FEWEST_ROUNDS",
    "LEVEL",
    "ROUNDING",
    "Estimate",
    "Estimates",
    "Floats",
    "block_sums",
    "difference",
    "intervals_of_rounds",
    "median_interval",
    "quotient",
    "relative_half_width",
    "without_infinities",
]
