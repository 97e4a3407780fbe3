"""Metrics over the batch sizes of one compiler: friction and its mitigation.

Two fits are comparable only over the same cells. So a fit is absent if one of its cells was asked for but not measured.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.cases import lacking, unmeasured
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.metric import Metric, scope_of
from pytest_ngraph.metrics.panels import NONE, Chunk, Panels
from pytest_ngraph.metrics.sampled import Sampled


class Curves:
    """Curves: the cells of one compiler and panel by batch size, where there are several batch sizes.

    Attributes:
        members: the rows of each curve, in rising order of batch size.
        identity: number of identity's curve in the same panel; NONE where there is none.
        friction: the friction of each curve.
        mitigation: the friction mitigation of each curve.
    """

    def __init__(self, panels: Panels) -> None:
        self._panels = panels
        by_compiler: dict[tuple[int, str], list[int]] = defaultdict(list)
        for row in panels.in_order():
            by_compiler[int(panels.panel[row]), panels.cells.cases[row].compiler].append(row)
        sizes = panels.cells.batch_sizes
        curves = {key: sorted(rows, key=sizes.__getitem__) for key, rows in by_compiler.items() if len(rows) > 1}
        numbers = {key: number for number, key in enumerate(curves)}
        self.members = list(curves.values())
        self.identity = [numbers.get((panel, IDENTITY), NONE) for panel, _ in curves]
        reasons = [self._lacks(rows) for rows in self.members]
        self.friction = Column.empty(len(curves), {number: why for number, why in enumerate(reasons) if why})
        self._fitted = {self.members[n][0]: n for n in np.flatnonzero(self.friction.present).tolist()}
        self.mitigation = Column.empty(len(curves), self._lack_mitigation(reasons))

    def fill(self, chunk: Chunk) -> None:
        """Compute the curves whose cells are in a chunk."""
        own = [self._fitted[row] for row in chunk.rows.tolist() if row in self._fitted]
        if not own:
            return
        frictions = friction(chunk, [self.members[number] for number in own])
        self.friction.put(np.array(own), frictions.estimates())
        places = {number: place for place, number in enumerate(own)}
        compared = [number for number in own if number not in self.mitigation.absent]
        if compared:
            reference = np.array([places[self.identity[number]] for number in compared], dtype=np.intp)
            mine = np.array([places[number] for number in compared], dtype=np.intp)
            self.mitigation.put(np.array(compared), (frictions.take(reference) - frictions.take(mine)).estimates())

    def metrics(self) -> Iterator[Metric]:
        for number, rows in enumerate(self.members):
            case = self._panels.cells.cases[rows[0]]
            scope = scope_of(case, spanned="batch_size")
            yield self.friction.metric("friction", number, scope)
            if case.compiler != IDENTITY:
                yield self.mitigation.metric("friction_mitigation", number, scope)

    def _lacks(self, rows: Sequence[int]) -> str:
        """Return why there is no friction: the first cell that is not measured."""
        cells = self._panels.cells
        for row in rows:
            if cells.cases[row].batch_size > 1:
                if not cells.measured[row]:
                    return unmeasured(cells, row)
                if self._panels.single[row] == NONE:
                    return f"{cells.cases[row].compiler} was not measured at batch size 1"
                if why := lacking(self._panels, row, "single"):
                    return why
        return ""

    def _lack_mitigation(self, reasons: Sequence[str]) -> dict[int, str]:
        absent = {}
        for number, identity in enumerate(self.identity):
            own, other = self._sizes(number), self._identity_sizes(number)
            compiler = self._panels.cells.cases[self.members[number][0]].compiler
            if own != other:
                absent[number] = f"{compiler} has batch sizes {_listed(own)} and identity {_listed(other) or 'none'}"
            elif why := reasons[identity] or reasons[number]:
                absent[number] = why
        return absent

    def _sizes(self, number: int) -> list[int]:
        return [self._panels.cells.cases[row].batch_size for row in self.members[number]]

    def _identity_sizes(self, number: int) -> list[int]:
        """Return the batch sizes at which identity has a record, also if there is only one."""
        if self.identity[number] != NONE:
            return self._sizes(self.identity[number])
        alone = {int(self._panels.identity[row]) for row in self.members[number]} - {NONE}
        return [self._panels.cells.cases[row].batch_size for row in alone]


def friction(chunk: Chunk, curves: Sequence[Sequence[int]]) -> Sampled:
    """Return φ of the fit ASE(b) = b^-φ for each curve, by least squares in logarithms through ASE(1) = 1.

    Args:
        chunk: contains all rows of the curves.
        curves: the rows of each curve, which have the same compiler and panel.
    """
    sizes = chunk.panels.cells.batch_sizes
    rows: list[int] = []
    begins, weights = [], []
    for curve in curves:
        beyond_one = [row for row in curve if sizes[row] > 1]
        logs = np.log(sizes[beyond_one])
        begins.append(len(rows))
        rows += beyond_one
        weights += (-logs / (logs @ logs)).tolist()
    every = np.array(rows, dtype=np.intp)
    efficiencies = chunk.rtr(every).scaled(1 / sizes[every])
    return efficiencies.log().scaled(np.array(weights)).sums(np.array(begins, dtype=np.intp))


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
