"""Points in history and how they follow each other: commits, or environments that differ by one change each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

Point = str
"""A commit's full hash, or an environment's name."""


class Graph:
    """The points between a good and a bad one, without the good one, and with the bad one.

    Args:
        parents: for each point its parents, in the order in which git lists them. Parents that are not among the points
            are taken to be good.
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

    def between(self, start: Point, end: Point) -> frozenset[Point]:
        """Return the points that `end` contains and `start` does not, `end` included."""
        contained: frozenset[Point] = self.ancestry.get(start, frozenset())
        return self.ancestry[end] - contained

    @cached_property
    def ancestry(self) -> dict[Point, frozenset[Point]]:
        """For each point, all points that it contains: itself, its parents, theirs and so on."""
        found: dict[Point, frozenset[Point]] = {}
        waiting = list(self._parents)
        while waiting:
            point = waiting[-1]
            parents = [parent for parent in self._parents[point] if parent in self._parents]
            missing = [parent for parent in parents if parent not in found]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            found.setdefault(point, frozenset({point}).union(*(found[parent] for parent in parents)))
        return found

    @cached_property
    def order(self) -> dict[Point, int]:
        """The points, each after all points that it contains."""
        by_size = sorted(self.ancestry, key=lambda point: (len(self.ancestry[point]), point))
        return {point: number for number, point in enumerate(by_size)}
