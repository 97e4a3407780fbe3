"""Metrics over one axis of one compiler: how its time grows with the batch, or with a size of the user's own.

Two fits are comparable only over the same cells. So a fit is absent if one of its cells was asked for but not measured.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.absence import unmeasured
from pytest_ngraph.metrics.axes import Axis, SizeAxis
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.metric import Metric, Scope
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.sampled import Sampled


class Curves:
    """Curves: the cells of one compiler that differ in one axis only, where there are several.

    Attributes:
        members: the rows of each curve, in rising order of size.
        exponent: the exponent of each curve (friction, growth).
        mitigation: identity's exponent minus that of the curve's compiler.
    """

    def __init__(self, panels: Panels, axis: Axis) -> None:
        self._panels, self._axis = panels, axis
        by_scope: dict[Scope, list[int]] = defaultdict(list)
        for row in panels.in_order():
            if axis.size(panels.cells.cases[row]) is not None:
                by_scope[axis.scope(panels.cells.cases[row])].append(row)
        curves = {scope: sorted(rows, key=self._size) for scope, rows in by_scope.items()}
        self._scopes = [scope for scope, rows in curves.items() if len(rows) > 1]
        self.members = [curves[scope] for scope in self._scopes]
        reasons = [self._lacks(rows) for rows in self.members]
        self.exponent = Column.empty(len(self.members), {number: why for number, why in enumerate(reasons) if why})
        self._fitted = {self.members[n][0]: n for n in np.flatnonzero(self.exponent.present).tolist()}
        numbers = {scope: number for number, scope in enumerate(self._scopes)}
        self._identity: dict[int, int | None] = {}
        absent = {}
        for number, scope in enumerate(self._scopes):
            reference = _under_identity(scope)
            self._identity[number] = numbers.get(reference)
            if why := self._lacks_mitigation(number, curves.get(reference, []), reasons):
                absent[number] = why
        self.mitigation = Column.empty(len(self.members), absent)
        self._later = [(rows[0], row) for rows in self.members for row in rows[1:]] if axis.relative else []
        self.relative = Column.empty(len(self._later), dict(self._lacks_relative()))

    def fill(self, chunk: Chunk) -> None:
        """Compute the curves whose cells are in a chunk."""
        rows = set(chunk.rows.tolist())
        own = [self._fitted[row] for row in chunk.rows.tolist() if row in self._fitted]
        if own:
            self._fit(chunk, own)
        compared = [n for n, (_, row) in enumerate(self._later) if row in rows and n not in self.relative.absent]
        if compared:
            first, later = (np.array([self._later[n][end] for n in compared], dtype=np.intp) for end in (0, 1))
            rates = chunk.throughput(later) / chunk.throughput(first)
            self.relative.put(np.array(compared), rates.estimates())

    def metrics(self) -> Iterator[Metric]:
        for number, scope in enumerate(self._scopes):
            yield self.exponent.metric(self._axis.exponent, number, scope)
            if scope.compiler != IDENTITY:
                yield self.mitigation.metric(self._axis.mitigation, number, scope)
        if isinstance(self._axis, SizeAxis):
            for number, (_, row) in enumerate(self._later):
                scope = self._axis.at(self._panels.cells.cases[row])
                yield self.relative.metric(self._axis.relative, number, scope)

    def _fit(self, chunk: Chunk, own: Sequence[int]) -> None:
        fits = exponents(chunk, [self.members[n] for n in own], [list(map(self._size, self.members[n])) for n in own])
        self.exponent.put(np.array(own), fits.estimates())
        places = {number: place for place, number in enumerate(own)}
        compared = [number for number in own if number not in self.mitigation.absent]
        if compared:
            identities = [self._identity[number] for number in compared]
            reference = np.array([places[n] for n in identities if n is not None], dtype=np.intp)
            mine = np.array([places[number] for number in compared], dtype=np.intp)
            self.mitigation.put(np.array(compared), (fits.take(reference) - fits.take(mine)).estimates())

    def _size(self, row: int) -> int:
        return self._axis.size(self._panels.cells.cases[row]) or 0

    def _lacks(self, rows: Sequence[int]) -> str:
        """Return why there is no fit: the first cell that is not measured."""
        cells = self._panels.cells
        later = next((self._unmeasured(row) for row in rows[1:] if not cells.measured[row]), "")
        return later or self._axis.lacks_reference(cells.cases[rows[0]]) or self._unmeasured(rows[0])

    def _lacks_relative(self) -> Iterator[tuple[int, str]]:
        for number, pair in enumerate(self._later):
            if why := next(filter(None, map(self._unmeasured, reversed(pair))), ""):
                yield number, why

    def _unmeasured(self, row: int) -> str:
        """Return why a cell is not measured; empty if it is."""
        cells = self._panels.cells
        if cells.measured[row]:
            return ""
        place = f", {self._axis.name} {self._size(row)}" if isinstance(self._axis, SizeAxis) else ""
        return unmeasured(cells, row, place)

    def _lacks_mitigation(self, number: int, identity: Sequence[int], reasons: Sequence[str]) -> str:
        """Return why there is no mitigation. `identity` has the rows of identity's curve, also if there is only one."""
        own, other = (list(map(self._size, rows)) for rows in (self.members[number], identity))
        if own != other:
            kind = f"{self._axis.name}s" if self._axis.name == "batch size" else self._axis.name
            return f"{self._scopes[number].compiler} has {kind} {_listed(own)} and identity {_listed(other) or 'none'}"
        reference = self._identity[number]
        return (reasons[reference] if reference is not None else "") or reasons[number]


def exponents(chunk: Chunk, curves: Sequence[Sequence[int]], sizes: Sequence[Sequence[int]]) -> Sampled:
    """Return the exponent x of seconds(n) / seconds(n0) = (n / n0)^x for each curve, by least squares in logarithms.

    Seconds are those of an iteration, and the fit goes through the first cell. Over batch sizes from 1, where
    ASE(b) = seconds(1) / seconds(b), this is the friction of ASE(b) = b^-x.

    Args:
        chunk: contains all rows of the curves.
        curves: the rows of each curve.
        sizes: where these lie on the axis, rising.
    """
    rows: list[int] = []
    firsts: list[int] = []
    begins, weights = [], []
    for curve, own in zip(curves, sizes, strict=True):
        logs = np.log(np.array(own[1:]) / own[0])
        begins.append(len(rows))
        rows += curve[1:]
        firsts += [curve[0]] * (len(curve) - 1)
        weights += (-logs / (logs @ logs)).tolist()
    later, first = np.array(rows, dtype=np.intp), np.array(firsts, dtype=np.intp)
    batches = chunk.panels.cells.batch_sizes
    speeds = (chunk.throughput(later) / chunk.throughput(first)).scaled(batches[first] / batches[later])
    return speeds.log().scaled(np.array(weights)).sums(np.array(begins, dtype=np.intp))


def _under_identity(scope: Scope) -> Scope:
    return dataclasses.replace(scope, compiler=IDENTITY)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
