"""The search for the point at which one case became worse than its base, by git bisect's rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.graph import Graph, Point

GOLDEN = 0.618034
"""Multiples of it, modulo 1, spread evenly however many there are."""
AWAY = 1.5
"""How far from the middle the next try lies after one that could not be answered, as in git bisect."""


@dataclass(slots=True)
class Search:
    """What is known of one case between a base, where it is fine, and a point where it is worse.

    Attributes:
        case: id of the case.
        base: the point that all others are compared with.
        tip: a point that is known to be worse, and contains all other candidates.
        candidates: points that may be the first that is worse; `tip` is one of them.
        unanswered: candidates that were tried in vain, and what came of it.
    """

    case: str
    base: Point
    tip: Point
    graph: Graph
    candidates: frozenset[Point]
    unanswered: dict[Point, Answer] = field(default_factory=dict)

    @classmethod
    def start(cls, case: str, graph: Graph, base: Point, tip: Point) -> Search:
        """Return the search after the base was seen to be fine and the tip to be worse."""
        return cls(case, base, tip, graph, graph.between(base, tip))

    def learn(self, point: Point, answer: Answer) -> None:
        """Take in what was answered about the case at a candidate."""
        contained = self.graph.ancestry[point]
        if answer.found == "worse":
            self.tip, self.candidates = point, self.candidates & contained
        elif answer.found == "fine":
            self.candidates -= contained
        else:
            self.unanswered[point] = answer

    @property
    def open(self) -> frozenset[Point]:
        """The candidates that can still be asked about. Without any, the search is over."""
        return self.candidates - self.unanswered.keys() - {self.tip}

    @property
    def is_found(self) -> bool:
        """Whether one candidate is left: the first that is worse."""
        return self.candidates == {self.tip}

    @property
    def in_vain(self) -> int:
        """How many candidates were tried in vain."""
        return len(self.unanswered.keys() & self.candidates)

    def gain(self, point: Point) -> int:
        """Return how many candidates an answer about this point rules out at least; 0 where it is not asked for."""
        if point not in self.open:
            return 0
        contained = len(self.candidates & self.graph.ancestry[point])
        return min(contained, len(self.candidates) - contained)


def next_point(searches: Iterable[Search]) -> Point:
    """Return the point whose answers help most. Each of the searches has one base, and is open.

    After a try in vain, the next lies away from the middle: points around one that does not build often do not build.
    """
    searches = list(searches)
    order = searches[0].graph.order
    points = frozenset().union(*(search.open for search in searches))
    gains = {point: sum(search.gain(point) for search in searches) for point in points}
    ranked = sorted(points, key=lambda point: (-gains[point], order[point]))
    in_vain = max(search.in_vain for search in searches)
    return ranked[int(len(ranked) * ((in_vain * GOLDEN) % 1.0) ** AWAY)]
