"""Metrics over the depths of one compiler: how the speedup of stacked blocks changes with depth, and how much is left.

As for curves, a metric is absent if one of its cells was asked for but not measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.absence import lacking, unmeasured
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.metric import Metric, Scope, scope_of
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.sampled import Rows, Sampled


class Stacks:
    """Stacks: the cells of one compiler, block, batch size and width by depth, where there are several depths.

    Attributes:
        scopes: the scope of each stack.
        depths: the depths of each stack, rising.
        members: the rows of each stack, in the order of its depths.
        slope: the depth slope of each stack.
        retention: the depth retention of each stack.
    """

    def __init__(self, panels: Panels) -> None:
        self._panels = panels
        stacks: dict[Scope, dict[int, int]] = defaultdict(dict)
        for row in panels.in_order():
            case = panels.cells.cases[row]
            if case.depth is not None and case.compiler != IDENTITY:
                stacks[scope_of(case, spanned="depth")][case.depth] = row
        deep = {scope: dict(sorted(rows.items())) for scope, rows in stacks.items() if len(rows) > 1}
        self.scopes = list(deep)
        self.depths = [list(rows) for rows in deep.values()]
        self.members = [list(rows.values()) for rows in deep.values()]
        self._begun = {rows[0]: number for number, rows in enumerate(self.members)}
        self.slope = Column.empty(len(deep), self._absent(self._lacks_slope))
        self.retention = Column.empty(len(deep), self._absent(self._lacks_retention))

    def fill(self, chunk: Chunk) -> None:
        """Compute the stacks whose cells are in a chunk."""
        own = [self._begun[row] for row in chunk.rows.tolist() if row in self._begun]
        sloped = [number for number in own if number not in self.slope.absent]
        if sloped:
            slopes = depth_slope(chunk, [(self.depths[n], self.members[n]) for n in sloped])
            self.slope.put(np.array(sloped), slopes.estimates())
        retained = [number for number in own if number not in self.retention.absent]
        if retained:
            deepest, single = (np.array([self.members[n][end] for n in retained], dtype=np.intp) for end in (-1, 0))
            self.retention.put(np.array(retained), depth_retention(chunk, deepest, single).estimates())

    def metrics(self) -> Iterator[Metric]:
        for number, scope in enumerate(self.scopes):
            yield self.slope.metric("depth_slope", number, scope)
            yield self.retention.metric("depth_retention", number, scope)

    def _absent(self, lacks: Callable[[int], str]) -> dict[int, str]:
        reasons = {number: lacks(number) for number in range(len(self.scopes))}
        return {number: why for number, why in reasons.items() if why}

    def _lacks_slope(self, number: int) -> str:
        """Return why there is no slope: the first depth without a speedup."""
        return next(filter(None, map(self._lacks_speedup, self.members[number])), "")

    def _lacks_retention(self, number: int) -> str:
        if self.depths[number][0] != 1:
            return "depth 1 was not measured"
        rows = self.members[number]
        return self._lacks_speedup(rows[-1]) or self._lacks_speedup(rows[0])

    def _lacks_speedup(self, row: int) -> str:
        cells = self._panels.cells
        place = f", depth {cells.cases[row].depth}"
        if not cells.measured[row]:
            return unmeasured(cells, row, place)
        return lacking(self._panels, row, "identity", place)


def depth_slope(chunk: Chunk, stacks: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Sampled:
    """Return the least-squares slope of the speedup over depth (study V-C). `stacks` has each one's depths and rows."""
    rows: list[int] = []
    begins, weights = [], []
    for depths, members in stacks:
        centred = np.array(depths, dtype=np.float64) - np.mean(depths)
        begins.append(len(rows))
        rows += members
        weights += (centred / (centred @ centred)).tolist()
    speedups = chunk.speedup(np.array(rows, dtype=np.intp))
    return speedups.scaled(np.array(weights)).sums(np.array(begins, dtype=np.intp))


def depth_retention(chunk: Chunk, deepest: Rows, single: Rows) -> Sampled:
    """Return the speedups of the deepest stacks over those of single blocks (study V-C)."""
    return chunk.speedup(deepest) / chunk.speedup(single)
