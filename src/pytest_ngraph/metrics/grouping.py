"""Rows in groups, as arrays: a million rows in Python's containers would take seconds and gigabytes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pytest_ngraph.metrics.sampled import Bools, Rows

NONE = -1
"""In place of a row or a number that does not exist."""


def numbered(keys: Iterable[Hashable], count: int) -> Rows:
    """Return the number of each key: equal keys have the same, in the order in which they first come."""
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(key, len(numbers)) for key in keys), np.intp, count)


def renumbered(numbers: Rows) -> Rows:
    """Return the numbers 0, 1, ... for these, in the order in which they first come."""
    _, first, inverse = np.unique(numbers, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.intp)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


def places_of(wanted: Rows, among: Rows) -> Rows:
    """Return where each of the wanted numbers comes last among others; NONE where it does not."""
    if not len(among):
        return np.full(len(wanted), NONE)
    order = np.argsort(among, kind="stable")
    ordered = among[order]
    places = np.searchsorted(ordered, wanted, side="right") - 1
    found: Rows = np.where((places >= 0) & (ordered[places] == wanted), order[places], NONE)
    return found


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows, one after another.

    Attributes:
        rows: the rows of all groups.
        sizes: where each of these lies on the axis of its group, rising within a group.
        begins: the place in `rows` at which each group begins.
    """

    rows: Rows
    sizes: Rows
    begins: Rows

    @classmethod
    def of(cls, rows: Rows, numbers: Rows, sizes: Rows) -> Groups:
        """Return the groups of these rows, in the order of their numbers 0, 1, ..., each sorted by size."""
        order = np.lexsort((sizes, numbers))
        counts = np.bincount(numbers, minlength=0)
        return cls(rows[order], sizes[order], np.cumsum(counts) - counts)

    def __len__(self) -> int:
        return len(self.begins)

    @cached_property
    def counts(self) -> Rows:
        """The number of rows of each group."""
        ends: Rows = np.append(self.begins, len(self.rows))[1:]
        return ends - self.begins

    @property
    def firsts(self) -> Rows:
        """The first row of each group."""
        return self.rows[self.begins]

    @property
    def lasts(self) -> Rows:
        """The last row of each group."""
        lasts: Rows = self.rows[self.begins + self.counts - 1]
        return lasts

    def __getitem__(self, number: int) -> Rows:
        begin = self.begins[number]
        return self.rows[begin : begin + self.counts[number]]

    def sizes_of(self, number: int) -> list[int]:
        """Return the sizes of a group."""
        begin = self.begins[number]
        sizes: list[int] = self.sizes[begin : begin + self.counts[number]].tolist()
        return sizes

    def take(self, numbers: Rows) -> Groups:
        """Return these groups, in this order."""
        counts = self.counts[numbers]
        begins = np.cumsum(counts) - counts
        places = np.repeat(self.begins[numbers] - begins, counts) + np.arange(int(counts.sum()))
        return Groups(self.rows[places], self.sizes[places], begins)

    def any_of(self, where: Bools) -> Bools:
        """Return of each group whether any of its rows is so; `where` is for all rows that there are."""
        found: Bools = np.logical_or.reduceat(where[self.rows], self.begins) if len(self) else np.empty(0, np.bool_)
        return found

    def equal_sizes(self, others: Rows) -> Bools:
        """Return of each group whether another, whose number is given or NONE, has rows at the same sizes."""
        same: Bools = (others != NONE) & (self.counts == self.counts[others])
        compared = np.flatnonzero(same)
        if len(compared):
            own, other = self.take(compared), self.take(others[compared])
            same[compared] = np.logical_and.reduceat(own.sizes == other.sizes, own.begins)
        return same

    def reasons(self, why: Callable[[int], str], among: Bools | None = None) -> dict[int, str]:
        """Return what `why` says of each group, where it says something; of all groups, or those among."""
        asked: Sequence[int] = range(len(self)) if among is None else np.flatnonzero(among).tolist()
        found = ((number, why(number)) for number in asked)
        return {number: reason for number, reason in found if reason}
