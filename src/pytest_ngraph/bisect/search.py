"""The search for the point at which one case became worse than its base, by git bisect's rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.graph import Bits, Graph, Point

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
    candidates: Bits
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
            self.candidates &= ~contained
        else:
            self.unanswered[point] = answer

    @property
    def open(self) -> Bits:
        """The candidates that can still be asked about. Without any, the search is over."""
        closed = self.graph.bit(self.tip)
        for point in self.unanswered:
            closed |= self.graph.bit(point)
        return self.candidates & ~closed

    @property
    def is_found(self) -> bool:
        """Whether one candidate is left: the first that is worse."""
        return self.candidates == self.graph.bit(self.tip)

    @property
    def in_vain(self) -> list[Answer]:
        """What came of the candidates that were tried in vain."""
        return [answer for point, answer in self.unanswered.items() if self.candidates & self.graph.bit(point)]


def next_point(searches: Iterable[Search]) -> Point:
    """Return the point whose answers help most. Each of the searches has one base, and is open.

    After a try in vain, the next lies away from the middle: points around one that does not build often do not build.
    """
    searches = list(searches)
    order, gains = searches[0].graph.order, _gains(searches)
    ranked = sorted(gains, key=lambda point: (-gains[point], order[point]))
    in_vain = max(len(search.in_vain) for search in searches)
    return ranked[int(len(ranked) * ((in_vain * GOLDEN) % 1.0) ** AWAY)]


def _gains(searches: Sequence[Search]) -> dict[Point, int]:
    """Return how many candidates answers about each point rule out at least, all searches that ask for it together."""
    graph = searches[0].graph
    alike: dict[Bits, Counter[Bits]] = defaultdict(Counter)
    for search in searches:
        alike[search.candidates][search.open] += 1
    gains: dict[Point, int] = defaultdict(int)
    for candidates, opened in alike.items():
        count = candidates.bit_count()
        split: dict[Point, int] = {}
        for bits, times in opened.items():
            for point in graph.points(bits):
                if point not in split:
                    contained = (candidates & graph.ancestry[point]).bit_count()
                    split[point] = min(contained, count - contained)
                gains[point] += times * split[point]
    return gains
