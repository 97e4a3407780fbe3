"""Percentiles of single calls, with intervals between order statistics.

The number of independent calls below a percentile is binomial, so that two of the ordered calls enclose it with at
least 95 % probability, whatever the distribution (David and Nagaraja, Order Statistics, 2003, section 7.1).
Neighbouring calls are not independent: a disturbance delays several. So the ends are moved outwards by how much the
calls above the percentile cluster.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np

from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column, Same
from pytest_ngraph.metrics.sampled import Rows
from pytest_ngraph.stats import LEVEL, ROUNDING, Estimates, Floats, block_sums

PERCENTILES: Mapping[str, float] = {"p50_s": 0.50, "p90_s": 0.90, "p95_s": 0.95, "p99_s": 0.99}
"""The share of calls that are faster, by metric."""
BATCHES = 20
"""Clusters are looked for in blocks of a twentieth of the calls: a block of a second is about one turn of an arm."""
REACHES = (1.0, 1.75, 2.5)
"""Standard errors of a rank. A jump that is farther away has the percentile on its wrong side in one process of 160.
That two arms are so mistaken, in opposite directions, is far rarer."""
SPARE = 1.6
"""How many times the fewest calls are asked for. With the fewest, clusters leave no upper end."""
SIDE_BY_SIDE = "calls run side by side, so that none has a time of its own"
UNTIMED = "single calls were not timed: --ngraph-tails times them"


def columns(cells: Cells, unmeasured: Mapping[int, str]) -> dict[str, Column]:
    """Return the percentiles of all cells. `unmeasured` says why cells have no measurement, by row."""
    timed = [row for row, calls in enumerate(cells.calls) if len(calls)]
    beside = dict.fromkeys(
        (row for row, case in enumerate(cells.cases) if case.objective == "throughput"), SIDE_BY_SIDE
    )
    untimed = Same(np.ones(len(cells.cases), dtype=np.bool_), UNTIMED)
    by_definition = [row for row in beside if row not in unmeasured]
    found = {}
    for name, share in PERCENTILES.items():
        few = {row: too_few(cells.calls[row], name) for row in timed}
        found[name] = Column.empty(len(cells.cases), untimed, few, beside, unmeasured)
        found[name].by_definition[by_definition] = True
        for rows, calls in _of_equal_counts(cells, np.flatnonzero(found[name].present)):
            found[name].put(rows, intervals(calls, share))
    return found


def too_few(calls: Sequence[float] | Floats, name: str) -> str:
    """Return why these calls, at least one, do not show a percentile, and what would; empty if they do."""
    fewest = fewest_calls(PERCENTILES[name])
    if len(calls) >= fewest:
        return ""
    taken = f"{name.removesuffix('_s')} takes {fewest} calls, and {len(calls)} were timed"
    return f"{taken}: --ngraph-tails={seconds_for(calls, name)}"


def seconds_for(calls: Sequence[float] | Floats, name: str) -> int:
    """Return in how many seconds there are enough calls such as these."""
    return math.ceil(SPARE * fewest_calls(PERCENTILES[name]) * float(np.mean(calls)))


def values(calls: Sequence[float]) -> dict[str, float | None]:
    """Return the percentiles of a case's calls by name; None where there are too few."""
    enough = {name: len(calls) >= fewest_calls(share) for name, share in PERCENTILES.items()}
    return {name: float(np.quantile(calls, PERCENTILES[name])) if enough[name] else None for name in PERCENTILES}


@cache
def fewest_calls(share: float) -> int:
    """Return how many calls have an upper end: all of fewer may lie below the percentile."""
    return math.ceil(math.log((1 - LEVEL) / 2) / math.log(share) - ROUNDING)


def intervals(calls: Floats, share: float) -> Estimates:
    """Return a percentile of n cases with its 95 % interval; shape (n, calls).

    The lower end is 0, or the upper one infinite, where it would lie beyond all calls.
    """
    count = calls.shape[1]
    found = np.quantile(calls, share, axis=1)
    widths = widening(calls, found, share)
    below, above = _left_out(count, share)
    return Estimates(
        found, *_ends(calls, share, (share * count - below) * widths, ((1 - share) * count - above) * widths)
    )


def log_error(calls: Sequence[float], share: float) -> float:
    """Return the standard error of the logarithm of a percentile; infinite where there are too few calls for it.

    Quantiles may jump: where every hundredth call is slow, p99 is fast or slow by chance. So the error is the steepest
    way from the percentile to the calls whose ranks are so many standard errors away as `REACHES` says. Beyond the
    slowest call, the way goes on in proportion.
    """
    own = np.array([calls], dtype=np.float64)
    found = np.quantile(own, share, axis=1)
    if len(calls) < fewest_calls(share):
        return math.inf
    error = widening(own, found, share) * math.sqrt(len(calls) * share * (1 - share))
    slowest = (1 - share) * len(calls)
    steepest = 0.0
    for reach in REACHES:
        low, high = (float(end[0]) for end in _ends(own, share, reach * error, np.minimum(reach * error, slowest)))
        ahead = math.log(high / found[0]) * max(1.0, float(reach * error[0]) / slowest)
        steepest = max(steepest, ahead / reach, math.log(found[0] / low) / reach if low > 0 else math.inf)
    return steepest


def _ends(calls: Floats, share: float, below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Return the calls that lie this many ranks below and above a percentile; 0 and infinite beyond all; shape (n,)."""
    count = calls.shape[1]
    ordered = np.pad(np.sort(calls, axis=1), ((0, 0), (1, 1)), constant_values=((0, 0), (0, math.inf)))
    first = np.floor(share * count - below + ROUNDING).astype(np.intp)
    last = count - 1 - np.floor((1 - share) * count - above + ROUNDING).astype(np.intp)
    rows = np.arange(len(calls))
    return ordered[rows, np.maximum(first, -1) + 1], ordered[rows, np.minimum(last, count) + 1]


def widening(calls: Floats, found: Floats, share: float) -> Floats:
    """Return by which factor the error of a rank exceeds that of independent calls; shape (n, calls) to (n,).

    As in `stats.widening`, 1 or more, with blocks long enough for disturbances that last.
    """
    count = calls.shape[1]
    length = max(1, count // BATCHES)
    above = (calls > found[:, None]).astype(np.float64)
    blocks = block_sums(above - above.mean(axis=1, keepdims=True), length)[:, length - 1 : count]
    variances = np.mean(blocks**2, axis=1) / length / (1 - length / count) / (share * (1 - share))
    freedom = 1.5 * count / length
    widths: Floats = np.sqrt(np.maximum(variances, 1) * (1 + math.sqrt(2 / freedom)))
    return widths


@cache
def _left_out(count: int, share: float) -> tuple[int, int]:
    """Return how many ordered calls to leave out at the lower and the upper end of an interval; -1 for no such end."""
    at_most = np.cumsum(_binomial(count, share))
    tail = (1 - LEVEL) / 2
    below = int(np.searchsorted(at_most, tail, side="right")) - 1
    above = count - 1 - int(np.searchsorted(at_most, 1 - tail, side="left"))
    return below, above


def _binomial(count: int, share: float) -> Floats:
    """Return the probabilities that 0, 1, ... `count` of so many calls lie below a percentile."""
    steps = np.log(np.arange(count, 0, -1) / np.arange(1, count + 1)) + math.log(share / (1 - share))
    logs = count * math.log(1 - share) + np.concatenate([[0.0], np.cumsum(steps)])
    probabilities: Floats = np.exp(logs)
    return probabilities


def _of_equal_counts(cells: Cells, rows: Rows) -> Iterator[tuple[Rows, Floats]]:
    """Yield groups of rows with equally many calls, and these."""
    counts = np.array([len(cells.calls[row]) for row in rows], dtype=np.intp)
    for count in np.unique(counts):
        own = rows[counts == count]
        yield own, np.stack([cells.calls[row] for row in own])
