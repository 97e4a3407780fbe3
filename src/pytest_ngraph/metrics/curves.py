"""Metrics over one axis of one compiler: how its time grows with the batch, or with a size of the user's own.

Two fits are comparable only over the same cells. So a fit is absent if one of its cells was asked for but not measured.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.absence import unmeasured
from pytest_ngraph.metrics.axes import Axis, SizeAxis
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.grouping import NONE, Groups, numbered, places_of, renumbered
from pytest_ngraph.metrics.metric import Metric, Scope
from pytest_ngraph.metrics.panels import Chunk, Panels
from pytest_ngraph.metrics.sampled import Bools, Rows, Sampled


class Curves:
    """Curves: the cells of one compiler that differ in one axis only, where there are several.

    Attributes:
        axis: the axis.
        members: the rows of each curve, in rising order of size.
        exponent: the exponent of each curve (friction, growth).
        mitigation: identity's exponent minus that of the curve's compiler.
    """

    def __init__(self, panels: Panels, axis: Axis) -> None:
        self._panels, self.axis = panels, axis
        every, arms, of_identity = _every_curve(panels, axis)
        several = np.flatnonzero(every.counts > 1)
        self.members = every.take(several)
        reasons = self.members.reasons(self._lacks)
        self.exponent = Column.empty(len(several), reasons)
        self._fitted = np.full(len(panels.cells.cases), NONE)
        fitted = np.flatnonzero(self.exponent.present)
        self._fitted[self.members.firsts[fitted]] = fitted
        reference = places_of(of_identity, arms)[several]
        self._identity = places_of(reference, several)
        alike = every.equal_sizes(_spread(reference, several, len(every)))[several]
        absent = {n: self._sizes_differ(n, every, int(reference[n])) for n in np.flatnonzero(~alike).tolist()}
        for number in np.flatnonzero(alike).tolist() if reasons else ():
            if why := reasons.get(int(self._identity[number]), "") or reasons.get(number, ""):
                absent[number] = why
        self.mitigation = Column.empty(len(several), absent)
        firsts = np.repeat(self.members.firsts, self.members.counts).tolist() if axis.relative else []
        pairs = zip(firsts, self.members.rows.tolist(), strict=False)
        self._later = [(first, row) for first, row in pairs if first != row]
        self.relative = Column.empty(len(self._later), dict(self._lacks_relative()))

    def fill(self, chunk: Chunk) -> None:
        """Compute the curves whose cells are in a chunk."""
        numbers = self._fitted[chunk.rows]
        own = numbers[numbers != NONE]
        if len(own):
            self._fit(chunk, own)
        rows = set(chunk.rows.tolist()) if self._later else ()
        compared = [n for n, (_, row) in enumerate(self._later) if row in rows and n not in self.relative.absent]
        if compared:
            first, later = (np.array([self._later[n][end] for n in compared], dtype=np.intp) for end in (0, 1))
            rates = chunk.throughput(later) / chunk.throughput(first)
            self.relative.put(np.array(compared), rates.estimates())

    @property
    def mitigated(self) -> Bools:
        """Whether each curve can have a mitigation: it is not identity's own."""
        firsts = self.members.firsts
        mitigated: Bools = self._panels.arm[firsts] != self._panels.arm_of_identity[firsts]
        return mitigated

    def metrics(self) -> Iterator[Metric]:
        cases, mitigated = self._panels.cells.cases, self.mitigated.tolist()
        for number, first in enumerate(self.members.firsts.tolist()):
            scope = self.axis.scope(cases[first])
            yield self.exponent.metric(self.axis.exponent, number, scope)
            if mitigated[number]:
                yield self.mitigation.metric(self.axis.mitigation, number, scope)
        if isinstance(self.axis, SizeAxis):
            for number, (_, row) in enumerate(self._later):
                scope = self.axis.at(cases[row])
                yield self.relative.metric(self.axis.relative, number, scope)

    def _fit(self, chunk: Chunk, own: Rows) -> None:
        fits = exponents(chunk, self.members.take(own))
        self.exponent.put(own, fits.estimates())
        compared = own[self.mitigation.absent.numbers[own] == 0]
        if len(compared):
            reference, mine = (places_of(numbers, own) for numbers in (self._identity[compared], compared))
            self.mitigation.put(compared, (fits.take(reference) - fits.take(mine)).estimates())

    def _lacks(self, number: int) -> str:
        """Return why there is no fit: the first cell that is not measured."""
        cells, rows = self._panels.cells, self.members[number]
        first, measured = int(rows[0]), cells.measured[rows]
        if not measured[1:].all():
            later = 1 + int(np.argmin(measured[1:]))
            return self._unmeasured(int(rows[later]))
        return self.axis.lacks_reference(cells.cases[first]) or self._unmeasured(first)

    def _lacks_relative(self) -> Iterator[tuple[int, str]]:
        for number, pair in enumerate(self._later):
            if why := next(filter(None, map(self._unmeasured, reversed(pair))), ""):
                yield number, why

    def _unmeasured(self, row: int) -> str:
        """Return why a cell is not measured; empty if it is."""
        cells = self._panels.cells
        if cells.measured[row]:
            return ""
        size = self.axis.size(cells.cases[row])
        place = f", {self.axis.name} {size}" if isinstance(self.axis, SizeAxis) else ""
        return unmeasured(cells, row, place)

    def _sizes_differ(self, number: int, every: Groups, reference: int) -> str:
        """Return why a curve cannot be compared with identity's, whose number among `every` curve is given or NONE."""
        own, other = self.members.sizes_of(number), [] if reference == NONE else every.sizes_of(reference)
        kind = f"{self.axis.name}s" if self.axis.name == "batch size" else self.axis.name
        compiler = self._panels.cells.cases[int(self.members.firsts[number])].compiler
        return f"{compiler} has {kind} {_listed(own)} and identity {_listed(other) or 'none'}"


def exponents(chunk: Chunk, curves: Groups) -> Sampled:
    """Return the exponent x of seconds(n) / seconds(n0) = (n / n0)^x for each curve, by least squares in logarithms.

    Seconds are those of an iteration, and the fit goes through the first cell. Over batch sizes from 1, where
    ASE(b) = seconds(1) / seconds(b), this is the friction of ASE(b) = b^-x.

    Args:
        chunk: contains all rows of the curves, of which each has several.
        curves: the rows of each curve, and where these lie on the axis.
    """
    is_later = np.ones(len(curves.rows), dtype=np.bool_)
    is_later[curves.begins] = False
    begins = curves.begins - np.arange(len(curves))
    later, first = curves.rows[is_later], np.repeat(curves.firsts, curves.counts - 1)
    logs = np.log(curves.sizes[is_later] / np.repeat(curves.sizes[curves.begins], curves.counts - 1))
    weights = -logs / np.repeat(np.add.reduceat(logs**2, begins), curves.counts - 1)
    batches = chunk.panels.cells.batch_sizes
    speeds = (chunk.throughput(later) / chunk.throughput(first)).scaled(batches[first] / batches[later])
    return speeds.log().scaled(weights).sums(begins)


def _every_curve(panels: Panels, axis: Axis) -> tuple[Groups, Rows, Rows]:
    """Return the cells of each compiler along an axis, also where there is only one.

    Also return a number for each of these curves, and the one that identity's would have beside it.
    """
    rows = panels.in_order()
    if isinstance(axis, SizeAxis):
        cases = panels.cells.cases
        found = [(row, size) for row in rows.tolist() if (size := axis.size(cases[row])) is not None]
        rows, sizes = np.array(found, dtype=np.intp).reshape(-1, 2).T
        scopes = [axis.scope(cases[row]) for row, _ in found]
        own = numbered([each for scope in scopes for each in (_under_identity(scope), scope)], 2 * len(scopes))
        of_identity, arms = own[::2], own[1::2]
    else:
        sizes = panels.cells.batch_sizes.astype(np.intp)[rows]
        of_identity, arms = panels.arm_of_identity[rows], panels.arm[rows]
    numbers = renumbered(arms)
    _, firsts = np.unique(numbers, return_index=True)
    return Groups.of(rows, numbers, sizes), arms[firsts], of_identity[firsts]


def _spread(values: Rows, places: Rows, count: int) -> Rows:
    """Return these values at these of `count` places; NONE elsewhere."""
    found = np.full(count, NONE)
    found[places] = values
    return found


def _under_identity(scope: Scope) -> Scope:
    return dataclasses.replace(scope, compiler=IDENTITY)


def _listed(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
