"""Points in history and how they follow each other: commits, or environments that differ by one change each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress

Point = str
"""A commit's full hash, or an environment's name."""
Bits = int
"""A set of points: the bit of each has its number in `Graph.numbers`. Thousands of sets of thousands of points are then
small, and quick to intersect and to count."""


class Graph:
    """The points between a good and a bad one, without the good one, and with the bad one.

    Args:
        parents: for each point its parents, in the order in which git lists them. Parents that are not among the points
            are taken to be good, until a search ends in a branch that begins at one of them, and accuses none.
    """

    def __init__(self, parents: Mapping[Point, Sequence[Point]]) -> None:
        self._parents = parents

    @classmethod
    def chain(cls, start: Point, points: Iterable[Point]) -> Graph:
        """Return points of which each follows from the one before, the first from `start`."""
        parents: dict[Point, Sequence[Point]] = {}
        for point in points:
            parents[point] = (start,)
            start = point
        return cls(parents)

    def first_parent(self, point: Point) -> Point | None:
        """Return the point that this one was made from; None for the first commit of a repository."""
        return next(iter(self._parents[point]), None)

    def between(self, start: Point, end: Point) -> Bits:
        """Return the points that `end` contains and `start` does not, `end` included."""
        return self.ancestry[end] & ~self.ancestry.get(start, 0)

    def after(self, start: Point) -> Bits:
        """Return the points that contain `start`, itself excluded. It may lie outside, as the good one does."""
        found: Bits = 0
        for point, number in self.numbers.items():
            if any(each == start or (each in self.numbers and found & self.bit(each)) for each in self._parents[point]):
                found |= 1 << number
        return found

    def points(self, bits: Bits) -> list[Point]:
        """Return the points of a set."""
        return list(compress(self.numbers, map(int, reversed(f"{bits:b}"))))

    def bit(self, point: Point) -> Bits:
        """Return the set of one point."""
        return 1 << self.numbers[point]

    @cached_property
    def numbers(self) -> dict[Point, int]:
        """A number for each point, in the order of the numbers: after those of all points that it contains."""
        found: dict[Point, int] = {}
        waiting = list(self._parents)
        while waiting:
            point = waiting[-1]
            missing = [each for each in self._parents[point] if each in self._parents and each not in found]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            found.setdefault(point, len(found))
        return found

    @cached_property
    def ancestry(self) -> dict[Point, Bits]:
        """For each point, all points that it contains: itself, its parents, theirs and so on."""
        found: dict[Point, Bits] = {}
        for point, number in self.numbers.items():
            contained = 1 << number
            for parent in self._parents[point]:
                contained |= found.get(parent, 0)
            found[point] = contained
        return found

    @cached_property
    def order(self) -> dict[Point, int]:
        """The points, each after all points that it contains."""
        by_size = sorted(self.ancestry, key=lambda point: (self.ancestry[point].bit_count(), point))
        return {point: number for number, point in enumerate(by_size)}
