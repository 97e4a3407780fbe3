"""Chain ratios to several anchors into one series: every night's time over that of the first anchor.

When an anchor no longer builds, nights are measured beside a later one; and a night may be measured beside any other
anchor. How two anchors compare is known from a run that measured one's own commit beside the other, and from commits
that were measured beside both. The uncertainty of such a link is shared by all nights whose ratio goes over it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import NamedTuple

import numpy as np

from pytest_ngraph.history.levels import FLOOR, LEAST, Chain
from pytest_ngraph.history.row import Row

Links = Mapping[tuple[str, str], tuple[float, float]]
"""By two anchors: the logarithm of the second one's time over the first one's, and its standard error."""


class Link(NamedTuple):
    """How an anchor compares with one that the series knows already.

    Attributes:
        anchor: its name.
        beside: the name of the other, not always the one before.
        start: the first night that was measured beside it.
        log: the logarithm of its time over that of the other.
        error: the standard error of that; infinite where the two were never compared, and `log` is only what makes the
            series go on at its level.
    """

    anchor: str
    beside: str
    start: int
    log: float
    error: float


class Chained(NamedTuple):
    """The nights of a case, as ratios to its first anchor.

    Attributes:
        rows: the nights, in order of time.
        chain: their logarithms with errors.
        links: the other anchors, in the order in which they were first used.
        left_out: nights beside an anchor that nothing links to those before and after.
    """

    rows: tuple[Row, ...]
    chain: Chain
    links: tuple[Link, ...]
    left_out: tuple[Row, ...] = ()


class _Branch(NamedTuple):
    """An anchor of the tree of anchors: where it hangs, and its link."""

    parent: str
    link: Link


def chained(rows: Sequence[Row]) -> Chained:
    """Return a case's nights in one series. Each anchor is linked to the first one by the surest way.

    A run that only links is no night: one that measured an anchor's own commit, just before the first night beside it
    (on no branch: `against.linking`) or later; and one that measured a night's commit once more, beside another anchor.
    Where several in a row did so, they are nights of a commit that stays the same.

    Args:
        rows: records of the case that have a ratio to an anchor, in order of time.
    """
    known = _links(rows)
    nights, left_out = _without_strays(list(_nights(rows)), known)
    tree = _tree(nights, known)
    shifts = {_anchor(nights[0]): 0.0}
    for anchor, branch in tree.items():
        shifts[anchor] = shifts[branch.parent] + branch.link.log
    own = np.array([_anchor(row) for row in nights])
    beyond = {anchor: own == anchor for anchor in tree}
    for anchor, branch in reversed(tree.items()):
        if branch.parent in beyond:
            beyond[branch.parent] = beyond[branch.parent] | beyond[anchor]
    chain = Chain(
        np.array([_level(row) + shifts[_anchor(row)] for row in nights]),
        np.array([row.ratio.error if row.ratio else math.inf for row in nights]),
        tuple(beyond.values()),
        tuple(branch.link.error for branch in tree.values()),
    )
    links = sorted((branch.link for branch in tree.values()), key=lambda link: link.start)
    return Chained(tuple(nights), chain, tuple(links), left_out)


def _nights(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows that do not only link two anchors."""
    first = {anchor: place for place, anchor in reversed(list(enumerate(map(_anchor, rows))))}
    last = {anchor: place for place, anchor in enumerate(map(_anchor, rows))}
    beside: dict[str, str] = {}
    for place, row in enumerate(rows):
        begins = first.get(row.commit, len(rows))
        is_just_before = begins == place + 1 and not row.branch
        is_only = first[_anchor(row)] == last[_anchor(row)]
        if begins < place or (is_just_before and not is_only):
            if row.commit != _anchor(row):
                continue
        elif row.commit and beside.setdefault(row.commit, _anchor(row)) != _anchor(row) and first[_anchor(row)] < place:
            around = (*rows[place - 1 : place], *rows[place + 1 : place + 2])
            if not any((each.commit, _anchor(each)) == (row.commit, _anchor(row)) for each in around):
                continue
        yield row


def _without_strays(nights: Sequence[Row], known: Links) -> tuple[list[Row], tuple[Row, ...]]:
    """Return the nights, and apart from them those that nothing links to the others around them, if they are few."""
    part = _parts(dict.fromkeys(map(_anchor, nights)), known)
    stretches = [list(own) for _, own in groupby(nights, lambda row: part[_anchor(row)])]
    parts = [part[_anchor(stretch[0])] for stretch in stretches]
    kept: list[Row] = []
    left_out: list[Row] = []
    for number, stretch in enumerate(stretches):
        is_between = 0 < number < len(parts) - 1 and parts[number - 1] == parts[number + 1]
        (left_out if is_between and len(stretch) <= LEAST else kept).extend(stretch)
    return kept, tuple(left_out)


def _parts(anchors: Iterable[str], known: Links) -> dict[str, str]:
    """Return for each anchor the first of those that links lead to."""
    part = {anchor: anchor for anchor in anchors}
    for one, other in known:
        if one in part and other in part:
            lead, follow = part[one], part[other]
            part = {anchor: lead if own == follow else own for anchor, own in part.items()}
    return part


def _tree(nights: Sequence[Row], known: Links) -> dict[str, _Branch]:
    """Return every anchor but the first, each after the one that it hangs from, by the surest links (Prim 1957)."""
    names = [_anchor(row) for row in nights]
    waiting = list(dict.fromkeys(names))
    inside, tree = [waiting.pop(0)], dict[str, _Branch]()
    while waiting:
        pairs = [(known[pair], pair) for pair in ((one, other) for one in inside for other in waiting) if pair in known]
        if pairs:
            (log, error), (parent, anchor) = min(pairs, key=lambda pair: pair[0][1])
            start = names.index(anchor)
        else:  # the series goes on at its level, and no step is looked for across
            anchor = waiting[0]
            start = names.index(anchor)
            parent = names[start - 1]
            log, error = _level(nights[start - 1]) - _level(nights[start]), math.inf
        waiting.remove(anchor)
        inside.append(anchor)
        beside = nights[names.index(parent)].anchor
        tree[anchor] = _Branch(parent, Link(nights[start].anchor, beside, start, log, error))
    return tree


def _links(rows: Sequence[Row]) -> dict[tuple[str, str], tuple[float, float]]:
    """Return how each two anchors compare that were compared, in both directions."""
    found = {}
    for one, other in combinations(dict.fromkeys(map(_anchor, rows)), 2):
        if link := _link(rows, one, other):
            found[one, other] = link
            found[other, one] = -link[0], link[1]
    return found


def _link(rows: Sequence[Row], one: str, other: str) -> tuple[float, float] | None:
    """Return the logarithm of the other anchor's time over the one's, and its standard error; None if not known.

    Independent estimates are weighted by their inverse variances. Of runs of one commit, those are compared that
    followed each other: a commit that stays the same for months has other libraries later.
    """
    logs = []
    beside: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        anchor = _anchor(row)
        if not row.commit or anchor not in (one, other):
            continue
        if row.commit in (one, other) and row.commit != anchor:
            logs.append((_level(row) if anchor == one else -_level(row), _variance(row)))
        else:
            beside[row.commit].append(row)
    for own in beside.values():
        for pair in _changes_of_anchor(own):
            first, second = sorted(pair, key=lambda row: _anchor(row) != one)
            logs.append((_level(first) - _level(second), _variance(first) + _variance(second)))
    if not logs:
        return None
    weights = [1 / variance for _, variance in logs]
    mean = math.fsum(weight * log for weight, (log, _) in zip(weights, logs, strict=True)) / math.fsum(weights)
    return mean, math.sqrt(1 / math.fsum(weights))


def _changes_of_anchor(rows: Iterable[Row]) -> Iterator[tuple[Row, Row]]:
    """Yield pairs of rows that follow each other and have different anchors, each row at most once."""
    last: Row | None = None
    for row in rows:
        if last is not None and _anchor(last) != _anchor(row):
            yield last, row
            last = None
        else:
            last = row


def _anchor(row: Row) -> str:
    """Return what distinguishes an anchor: its commit, else its name."""
    return row.anchor_commit or row.anchor


def _level(row: Row) -> float:
    return row.ratio.log if row.ratio else 0.0


def _variance(row: Row) -> float:
    return max(row.ratio.error if row.ratio else math.inf, FLOOR) ** 2
