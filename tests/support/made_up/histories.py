"""Histories of commits with merges, made at random."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from pytest_ngraph.bisect.graph import Graph

GOOD = "good"


@st.composite
def histories(draw: st.DrawFn) -> tuple[Graph, list[str], str]:
    """Return a history with merges. The last point contains all others or some of them."""
    length = draw(st.integers(1, 24))
    parents: dict[str, Sequence[str]] = {}
    points = [GOOD, *(f"c{number:02d}" for number in range(length))]
    for number, point in enumerate(points[1:]):
        first = points[draw(st.integers(max(0, number - 3), number))]
        second = [points[draw(st.integers(0, number))]] if draw(st.booleans()) else []
        parents[point] = tuple(dict.fromkeys([first, *second]))
    bad = points[-1]
    whole = Graph(parents)
    kept = {point: parents[point] for point in whole.points(whole.ancestry[bad])}
    return Graph(kept), sorted(kept), bad
