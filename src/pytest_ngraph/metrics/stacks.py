"""Metrics over the depths of one compiler: how the speedup of stacked blocks changes with depth, and how much is left.

As for curves, a metric is absent if one of its cells was asked for but not measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

import numpy as np

from pytest_ngraph.metrics.absence import lacking, unmeasured
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.grouping import NONE, Groups, numbered
from pytest_ngraph.metrics.metric import FIELDS, Metric, scope_of
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.rates import Rates
from pytest_ngraph.metrics.sampled import Rows, Sampled, in_cache

AT_ONCE = 16
"""Stacks whose slopes are computed at a time: each has several cells."""


class Stacks:
    """Stacks: the cells of one compiler, block, batch size and width by depth, where there are several depths.

    Attributes:
        members: the rows of each stack by depth, rising.
        slope: the depth slope of each stack.
        retention: the depth retention of each stack.
    """

    def __init__(self, panels: Panels) -> None:
        self._panels = panels
        cells, rows = panels.cells, panels.in_order()
        depths = np.fromiter((NONE if case.depth is None else case.depth for case in cells.cases), np.intp, len(rows))
        rows = rows[(depths[rows] != NONE) & (panels.arm[rows] != panels.arm_of_identity[rows])]
        every = Groups.of(rows, numbered((_STACK(cells.cases[row]) for row in rows.tolist()), len(rows)), depths[rows])
        self.members = every.take(np.flatnonzero(every.counts > 1))
        self._lacks = ~(cells.measured & panels.has("identity"))
        self._begun = np.full(len(cells.cases), NONE)
        self._begun[self.members.firsts] = np.arange(len(self.members))
        self.slope = Column.empty(
            len(self.members), self.members.reasons(self._lacks_slope, self.members.any_of(self._lacks))
        )
        self.retention = Column.empty(len(self.members), self.members.reasons(self._lacks_retention))

    def fill(self, chunk: Chunk) -> None:
        """Compute the stacks whose cells are in a chunk."""
        numbers = self._begun[chunk.rows]
        own = numbers[numbers != NONE]
        for sloped in in_cache(own[self.slope.absent.numbers[own] == 0], AT_ONCE):
            self.slope.put(sloped, depth_slope(chunk, self.members.take(sloped)).estimates())
        for retained in in_cache(own[self.retention.absent.numbers[own] == 0]):
            deep = self.members.take(retained)
            self.retention.put(retained, depth_retention(chunk, deep.lasts, deep.firsts).estimates())

    def metrics(self) -> Iterator[Metric]:
        for number, first in enumerate(self.members.firsts.tolist()):
            scope = scope_of(self._panels.cells.cases[first], spanned="depth")
            yield self.slope.metric("depth_slope", number, scope)
            yield self.retention.metric("depth_retention", number, scope)

    def _lacks_slope(self, number: int) -> str:
        """Return why there is no slope: the first depth without a speedup."""
        return next(filter(None, map(self._lacks_speedup, self.members[number].tolist())), "")

    def _lacks_retention(self, number: int) -> str:
        rows = self.members[number]
        if self.members.sizes[self.members.begins[number]] != 1:
            return "depth 1 was not measured"
        return self._lacks_speedup(int(rows[-1])) or self._lacks_speedup(int(rows[0]))

    def _lacks_speedup(self, row: int) -> str:
        if not self._lacks[row]:
            return ""
        cells = self._panels.cells
        place = f", depth {cells.cases[row].depth}"
        if not cells.measured[row]:
            return unmeasured(cells, row, place)
        return lacking(self._panels, row, "identity", place)


def depth_slope(chunk: Chunk, stacks: Groups) -> Sampled:
    """Return the least-squares slope of the speedup over depth (study V-C). `stacks` has each one's rows and depths."""
    depths = stacks.sizes.astype(np.float64)
    centred = depths - np.repeat(np.add.reduceat(depths, stacks.begins) / stacks.counts, stacks.counts)
    weights = centred / np.repeat(np.add.reduceat(centred**2, stacks.begins), stacks.counts)
    return chunk.speedup(stacks.rows).linear().scaled(weights).sums(stacks.begins)


def depth_retention(chunk: Chunk, deepest: Rows, single: Rows) -> Rates:
    """Return the speedups of the deepest stacks over those of single blocks (study V-C)."""
    return chunk.speedup(deepest) / chunk.speedup(single)


_STACK = attrgetter(*(name for name in FIELDS if name != "depth"))
