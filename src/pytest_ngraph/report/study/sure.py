"""What a study may conclude from throughputs: which are surely above others, other processes included."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from pytest_ngraph.metrics.below import surely_below
from pytest_ngraph.metrics.between import NORMAL, TAIL, Between, Spread, Uncertainty, log_distance
from pytest_ngraph.metrics.cells import UNCHANGED
from pytest_ngraph.metrics.sampled import Bools, Rows
from pytest_ngraph.stats import Estimate, Estimates

THROUGHPUT = {"throughput": math.nan, "throughput_low": 0.0, "throughput_high": math.inf}
"""The columns of a throughput with its interval, and what stands for a bound that is not known."""
LEFT_OUT = pl.col("reason") == UNCHANGED
"""The cases that a gate left out: nobody knows how fast they are."""


def measured_as_a_whole(cases: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the measured rows of groups of which a gate left out none, so that the fastest one is known."""
    return cases.filter(pl.col("outcome") == "measured", ~LEFT_OUT.any().over(by))


class Ranked(NamedTuple):
    """Rows of a frame, group by group, the highest throughput of each first.

    Attributes:
        rows: the rows.
        begins: where each group begins.
        below: whether each is surely below the highest of its group in other processes, too.
    """

    rows: Rows
    begins: Rows
    below: Bools


def ranked(frame: pl.DataFrame, by: Sequence[str], between: Between) -> Ranked:
    """Return the rows of measured cases by group and throughput. Of equal throughputs, the earlier row comes first.

    Args:
        frame: with the columns `by` and `session`, the throughput with its bounds, and `steepness` if it is not 1.
        by: what the rows of a group have in common. Groups come in the order of their first rows.
    """
    every = frame.with_row_index("row")
    groups = every.select(pl.col("row").first().over(by))["row"].to_numpy().astype(np.intp)
    rates = Estimates(*(frame[name].fill_null(bound).to_numpy() for name, bound in THROUGHPUT.items()))
    rows = np.lexsort((-rates.values, groups))
    begins = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    sessions = frame["session"].rank("dense").to_numpy().astype(np.intp)
    steepness = frame["steepness"].to_numpy() if "steepness" in frame.columns else np.ones(len(rows))
    below = surely_below(rates.take(rows), sessions[rows], steepness[rows], begins, between)
    return Ranked(rows, begins, below)


def as_good(frame: pl.DataFrame, by: Sequence[str], between: Between) -> pl.DataFrame:
    """Return the rows, group by group, whose throughput is not surely below the group's highest."""
    found = ranked(frame, by, between)
    return frame[found.rows[~found.below]]


def fastest(frame: pl.DataFrame, by: Sequence[str], between: Between) -> pl.DataFrame:
    """Return the row with the highest throughput of each group with several rows, the highest of all first.

    The column `sure` is true where it would surely be the highest of its group in other processes, too.
    """
    found = ranked(frame, by, between)
    if not len(found.rows):
        return frame.with_columns(sure=pl.lit(False))
    counts = np.diff(found.begins, append=len(found.rows))
    is_sure = np.add.reduceat(found.below, found.begins, dtype=np.intp) == counts - 1
    firsts = found.rows[found.begins]
    several = np.flatnonzero(counts > 1)
    order = several[np.lexsort((firsts[several], -frame["throughput"].to_numpy()[firsts[several]]))]
    return frame[firsts[order]].with_columns(sure=pl.Series(is_sure[order]))


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
