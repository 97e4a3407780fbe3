"""What a study may conclude from throughputs: which are surely above others, other processes included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from pytest_ngraph.metrics.between import NORMAL, TAIL, Between, Spread, Uncertainty, log_distance, surely_above
from pytest_ngraph.metrics.cells import UNCHANGED
from pytest_ngraph.stats import Estimate

LEFT_OUT = pl.col("reason") == UNCHANGED
"""The cases that a gate left out: nobody knows how fast they are."""
RATES = pl.struct("throughput", "throughput_low", "throughput_high", "session").alias("rates")
"""The throughputs of a group with their intervals and sessions, the highest first, for `is_sure`."""


def measured_as_a_whole(cases: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the measured rows of groups of which a gate left out none, so that the fastest one is known."""
    return cases.filter(pl.col("outcome") == "measured", ~LEFT_OUT.any().over(by))


def is_sure(rates: Sequence[dict[str, Any]], between: Between) -> bool:
    """Return whether the first of several throughputs is surely above all others. Alone, it is not compared."""
    return len(rates) > 1 and all(_surely_above(rates, between))


def as_good(frame: pl.DataFrame, by: Sequence[str], between: Between) -> pl.DataFrame:
    """Return the rows, group by group, whose throughput is not surely below the group's highest."""
    best_first = (
        column.sort_by("throughput", descending=True, maintain_order=True) for column in (pl.col("row"), RATES)
    )
    groups = frame.with_row_index("row").group_by(by, maintain_order=True).agg(*best_first)
    kept: list[int] = []
    for rows, rates in groups.select("row", "rates").iter_rows():
        lower = [False, *_surely_above(rates, between)]
        kept += [row for row, is_lower in zip(rows, lower, strict=True) if not is_lower]
    return frame[kept]


def _surely_above(rates: Sequence[dict[str, Any]], between: Between) -> list[bool]:
    """Return of which others the first of several throughputs, the highest, is surely above."""
    best, *others = map(throughput, rates)
    return surely_above(best, others, between, sessions=[each["session"] for each in rates])


def is_surely_above_one(ratio: Estimate, spread: Spread) -> bool:
    """Return whether a ratio of two cases, such as a speedup, would surely be above 1 in other processes, too.

    Args:
        spread: of its logarithm between processes.
    """
    if ratio.value <= 1:
        return False
    within = log_distance(ratio.value, ratio.low) / NORMAL
    return Uncertainty(within, spread).excludes(math.log(ratio.value), TAIL)


def pair_in_words(between: Between) -> str:
    """Return by how much two processes of the same code differ: `± 4.5 % at 95 %, as on machines in general`."""
    return f"± {between.pair_percent:.1f} % at 95 %, {between.source}"


def throughput(row: dict[str, Any]) -> Estimate:
    """Return the throughput in a row; with too few rounds, a bound is unknown, and then nothing is sure."""
    low, high = row["throughput_low"], row["throughput_high"]
    return Estimate(row["throughput"], 0.0 if low is None else low, math.inf if high is None else high)
