"""Which cells belong together: the neighbours of each cell, and chunks of cells that contain all their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.grouping import NONE, Groups, numbered, places_of, renumbered
from pytest_ngraph.metrics.metric import FIELDS
from pytest_ngraph.metrics.rates import Rates
from pytest_ngraph.metrics.sampled import Bools, Rows

AT_ONCE = 1024
"""Cells of a chunk, or somewhat more. Their draws take a few megabytes, which fit a processor's cache."""

Neighbour = Literal["single", "identity", "identity_single"]


@dataclass(frozen=True, eq=False)
class Panels:
    """The cells and the rows of their neighbours (NONE where there is none); shape (n,) each.

    Attributes:
        cells: the cells.
        panel: number of the cell's panel. The cells of a panel differ in compiler and batch size only.
        arm: number of the cell's panel and compiler.
        arm_of_identity: that of the cell's panel under identity, whether it has such cells or not.
        single: the same compiler at batch size 1.
        identity: identity at the same batch size.
        identity_single: identity at batch size 1.
    """

    cells: Cells
    panel: Rows
    arm: Rows
    arm_of_identity: Rows
    single: Rows
    identity: Rows
    identity_single: Rows

    @classmethod
    def of(cls, cells: Cells) -> Panels:
        count = len(cells.cases)
        panel = numbered(map(_PANEL, cells.cases), count)
        compilers = [case.compiler for case in cells.cases]
        compiler = numbered((IDENTITY, *compilers), count + 1)[1:]
        arm = panel * (compiler.max(initial=0) + 1) + compiler
        of_identity = arm - compiler
        sizes = cells.batch_sizes.astype(np.intp)
        known, size = np.unique(np.append(sizes, 1), return_inverse=True)
        one = size[-1]
        size, every = size[:-1], len(known)
        among = arm * every + size
        return cls(
            cells=cells,
            panel=panel,
            arm=arm,
            arm_of_identity=of_identity,
            single=places_of(arm * every + one, among),
            identity=places_of(of_identity * every + size, among),
            identity_single=places_of(of_identity * every + one, among),
        )

    def has(self, neighbour: Neighbour) -> Bools:
        """Return whether each cell's neighbour was recorded and measured."""
        rows: Rows = getattr(self, neighbour)
        measured: Bools = (rows != NONE) & self.cells.measured[rows]
        return measured

    def is_identity(self) -> Bools:
        """Return whether each cell is of identity."""
        own: Bools = self.identity == np.arange(len(self.identity))
        return own

    def is_single(self) -> Bools:
        """Return whether each cell has batch size 1."""
        own: Bools = self.single == np.arange(len(self.single))
        return own

    def in_order(self) -> Rows:
        """Return all rows, panel by panel."""
        return np.argsort(self.panel, kind="stable")

    def chunks(self) -> Iterator[Rows]:
        """Yield the rows of measured cells. Panels that differ in depth or in the user's own sizes stay together."""
        panels, firsts = np.unique(self.panel, return_index=True)
        stacks = numbered((_STACK(self.cells.cases[row]) for row in firsts.tolist()), len(panels))
        rows = np.flatnonzero(self.cells.measured)
        if not len(rows):
            return
        numbers = renumbered(stacks[self.panel[rows]])
        together = Groups.of(rows, numbers, rows)
        begin = 0
        for end in (*together.begins[1:].tolist(), len(rows)):
            if end - begin >= AT_ONCE or end == len(rows):
                yield together.rows[begin:end]
                begin = end


class Chunk:
    """Measured cells with the draws of their throughput.

    Attributes:
        panels: all cells.
        rows: rows of this chunk's cells; shape (m,).
    """

    def __init__(self, panels: Panels, rows: Rows) -> None:
        self.panels = panels
        self.rows = rows
        self._throughput = panels.cells.throughput(rows)
        self._order = np.argsort(rows)
        self._in_order = rows[self._order]

    def throughput(self, rows: Rows) -> Rates:
        """Return T_c(b) of these cells, which must be in this chunk."""
        return self._throughput.take(self._order[np.searchsorted(self._in_order, rows)])

    def speedup(self, rows: Rows) -> Rates:
        """Return T_c(b) / T_identity(b) (study V-C)."""
        return self.throughput(rows) / self.throughput(self.panels.identity[rows])

    def rtr(self, rows: Rows) -> Rates:
        """Return the relative throughput rate, T_c(b) / T_c(1) (study V-A4)."""
        return self.throughput(rows) / self.throughput(self.panels.single[rows])

    def bsr(self, rows: Rows) -> Rates:
        """Return the batch scaling resilience, ASE_c(b) / ASE_identity(b) (study V-A4).

        Both efficiencies are at the same batch size, so their ratio is the ratio of the rates.
        """
        return self.rtr(rows) / self.rtr(self.panels.identity[rows])


_PANEL = attrgetter(*(name for name in FIELDS if name not in ("compiler", "batch_size")))
_STACK = attrgetter("model_label", "width", "precision", "objective", "device")
