"""The next point of a search, beside the same rules written down with plain sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from histories import GOOD, histories
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.bisect.answer import Answer, Found
from pytest_ngraph.bisect.graph import Graph
from pytest_ngraph.bisect.search import AWAY, GOLDEN, Search, next_point


class Plain:
    """A search as `Search`, with sets of points."""

    def __init__(self, ancestry: Mapping[str, frozenset[str]], tip: str) -> None:
        self.ancestry, self.tip = ancestry, tip
        self.candidates, self.unanswered = ancestry[tip], set[str]()

    def learn(self, point: str, found: Found) -> None:
        if found == "worse":
            self.tip, self.candidates = point, self.candidates & self.ancestry[point]
        elif found == "fine":
            self.candidates -= self.ancestry[point]
        else:
            self.unanswered.add(point)

    @property
    def open(self) -> frozenset[str]:
        return self.candidates - self.unanswered - {self.tip}

    def gain(self, point: str) -> int:
        if point not in self.open:
            return 0
        contained = len(self.candidates & self.ancestry[point])
        return min(contained, len(self.candidates) - contained)


def contained(graph: Graph, point: str, points: Sequence[str]) -> frozenset[str]:
    """Return the points that a point contains, by its parents."""
    parents = [each for each in graph._parents[point] if each in points]
    return frozenset({point}).union(*(contained(graph, each, points) for each in parents))


def plain_next(searches: Sequence[Plain], order: Mapping[str, int]) -> str:
    points = frozenset[str]().union(*(search.open for search in searches))
    gains = {point: sum(search.gain(point) for search in searches) for point in points}
    ranked = sorted(points, key=lambda point: (-gains[point], order[point]))
    in_vain = max(len(search.unanswered & search.candidates) for search in searches)
    return ranked[int(len(ranked) * ((in_vain * GOLDEN) % 1.0) ** AWAY)]


@given(histories(), st.data())
def test_sets_of_bits_lead_to_the_same_points(history: tuple[Graph, list[str], str], data: st.DataObject) -> None:
    graph, points, bad = history
    ancestry = {point: contained(graph, point, points) for point in points}
    order = {point: number for number, point in enumerate(sorted(points, key=lambda each: (len(ancestry[each]), each)))}
    assert graph.order == order
    assert {point: frozenset(graph.points(graph.ancestry[point])) for point in points} == ancestry
    pairs = [(Search.start(case, graph, GOOD, bad), Plain(ancestry, bad)) for case in "abc"]
    while opened := [(one, other) for one, other in pairs if one.open]:
        point = next_point(one for one, _ in opened)
        assert point == plain_next([other for _, other in opened], order)
        for one, other in opened:
            if point in other.open:
                found: Found = data.draw(st.sampled_from(get_args(Found)))
                one.learn(point, Answer(found=found))
                other.learn(point, found)
            assert (frozenset(graph.points(one.candidates)), frozenset(graph.points(one.open)), one.tip) == (
                other.candidates, other.open, other.tip,
            )  # fmt: skip
            assert one.is_found == (other.candidates == {other.tip})
    assert not any(other.open for _, other in pairs)
