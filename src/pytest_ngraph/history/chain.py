"""Chain ratios to several anchors into one series: every night's time over that of the first anchor.

When an anchor no longer builds, nights are measured beside a later one. How the two compare is known from a night on
which the later anchor's own commit was measured beside the earlier one, and from commits that were measured beside
both. The uncertainty of that link is shared by all later nights.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pytest_ngraph.history.row import Row
from pytest_ngraph.history.steps import FLOOR, Chain


class Link(NamedTuple):
    """How an anchor compares with the one before it.

    Attributes:
        anchor: its name.
        start: the first night that was measured beside it.
        log: the logarithm of its time over that of the anchor before.
        error: the standard error of that; infinite where the two were never compared.
    """

    anchor: str
    start: int
    log: float
    error: float


class Chained(NamedTuple):
    """The nights of a case, as ratios to its first anchor.

    Attributes:
        rows: the nights, in order of time.
        chain: their logarithms with errors.
        links: the later anchors.
    """

    rows: tuple[Row, ...]
    chain: Chain
    links: tuple[Link, ...]


def chained(rows: Sequence[Row]) -> Chained:
    """Return a case's nights in one series.

    A night that was still measured beside an earlier anchor, after a later one was first used, only links the two. So
    does a run just before a later anchor that measured this anchor's own commit, on no branch: `against.linking`.

    Args:
        rows: records of the case that have a ratio to an anchor, in order of time.
    """
    anchors = list(dict.fromkeys(map(_anchor, rows)))
    order = {anchor: number for number, anchor in enumerate(anchors)}
    kept: list[Row] = []
    starts: dict[int, int] = {}
    for row in rows:
        number = order[_anchor(row)]
        if kept and number < order[_anchor(kept[-1])]:
            continue
        if number not in starts:
            if kept and _only_links(kept[-1], row) and starts[order[_anchor(kept[-1])]] < len(kept) - 1:
                kept.pop()
            starts[number] = len(kept)
        kept.append(row)
    links: list[Link] = []
    shifts = [0.0]
    for number in range(1, len(anchors)):
        log, error = _link(rows, anchors[number - 1], anchors[number])
        if not math.isfinite(error):  # the series goes on at its level, and no step is looked for across
            log = _level(kept[starts[number] - 1]) - _level(kept[starts[number]])
        links.append(Link(kept[starts[number]].anchor, starts[number], log, error))
        shifts.append(shifts[-1] + log)
    values = [_level(row) + shifts[order[_anchor(row)]] for row in kept]
    errors = [row.ratio.error if row.ratio else math.inf for row in kept]
    chain = Chain(
        np.array(values), np.array(errors), tuple(each.start for each in links), tuple(each.error for each in links)
    )
    return Chained(tuple(kept), chain, tuple(links))


def _link(rows: Sequence[Row], earlier: str, later: str) -> tuple[float, float]:
    """Return the logarithm of the later anchor's time over the earlier one's, and its standard error.

    Independent estimates are weighted by their inverse variances.
    """
    direct = [row for row in rows if _anchor(row) == earlier and row.commit and row.commit == later]
    logs = [(_level(row), _variance(row)) for row in direct]
    beside: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.commit and _anchor(row) in (earlier, later):
            beside[row.commit][_anchor(row)].append(row)
    for by_anchor in beside.values():
        for one, other in zip(by_anchor.get(earlier, ()), by_anchor.get(later, ()), strict=False):
            if one not in direct:
                logs.append((_level(one) - _level(other), _variance(one) + _variance(other)))
    if not logs:
        return 0.0, math.inf
    weights = [1 / variance for _, variance in logs]
    mean = math.fsum(weight * log for weight, (log, _) in zip(weights, logs, strict=True)) / math.fsum(weights)
    return mean, math.sqrt(1 / math.fsum(weights))


def _only_links(last: Row, first: Row) -> bool:
    """Return whether the last row beside an anchor was measured to link the anchor of the first row after it."""
    return last.commit == _anchor(first) and not last.branch


def _anchor(row: Row) -> str:
    """Return what distinguishes an anchor: its commit, else its name."""
    return row.anchor_commit or row.anchor


def _level(row: Row) -> float:
    return row.ratio.log if row.ratio else 0.0


def _variance(row: Row) -> float:
    return max(row.ratio.error if row.ratio else math.inf, FLOOR) ** 2
