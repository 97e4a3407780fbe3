"""Which cells belong together: the neighbours of each cell, and chunks of cells that contain all their neighbours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.cells import Cells, key_of
from pytest_ngraph.metrics.sampled import Bools, Rows, Sampled

NONE = -1
"""The row of a cell that was never recorded."""
AT_ONCE = 1024
"""Cells of a chunk, or somewhat more. Their draws take a few megabytes, which fit a processor's cache."""

Neighbour = Literal["single", "identity", "identity_single"]


@dataclass(frozen=True, eq=False)
class Panels:
    """The cells and the rows of their neighbours (NONE where there is none); shape (n,) each.

    Attributes:
        cells: the cells.
        panel: number of the cell's panel. The cells of a panel differ in compiler and batch size only.
        single: the same compiler at batch size 1.
        identity: identity at the same batch size.
        identity_single: identity at batch size 1.
    """

    cells: Cells
    panel: Rows
    single: Rows
    identity: Rows
    identity_single: Rows

    @classmethod
    def of(cls, cells: Cells) -> Panels:
        numbers: dict[object, int] = {}
        keys = [
            (numbers.setdefault(key_of(case), len(numbers)), case.compiler, case.batch_size) for case in cells.cases
        ]
        rows = {key: row for row, key in enumerate(keys)}

        def neighbours(of: list[tuple[int, str, int]]) -> Rows:
            return np.array([rows.get(key, NONE) for key in of], dtype=np.intp)

        return cls(
            cells=cells,
            panel=np.array([panel for panel, _, _ in keys], dtype=np.intp),
            single=neighbours([(panel, compiler, 1) for panel, compiler, _ in keys]),
            identity=neighbours([(panel, IDENTITY, size) for panel, _, size in keys]),
            identity_single=neighbours([(panel, IDENTITY, 1) for panel, _, _ in keys]),
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

    def in_order(self) -> list[int]:
        """Return all rows, panel by panel."""
        rows: list[int] = np.argsort(self.panel, kind="stable").tolist()
        return rows

    def chunks(self) -> Iterator[Rows]:
        """Yield the rows of measured cells. Panels that differ in depth or in the user's own sizes stay together."""
        stacks: dict[object, int] = {}
        of_panel: dict[int, int] = {}
        for panel, case in zip(self.panel.tolist(), self.cells.cases, strict=True):
            if panel not in of_panel:
                of_panel[panel] = stacks.setdefault(_stack_of(case), len(stacks))
        members: dict[int, list[int]] = defaultdict(list)
        for row in np.flatnonzero(self.cells.measured).tolist():
            members[of_panel[int(self.panel[row])]].append(row)
        gathered: list[int] = []
        for rows in members.values():
            gathered += rows
            if len(gathered) >= AT_ONCE:
                yield np.array(gathered, dtype=np.intp)
                gathered = []
        if gathered:
            yield np.array(gathered, dtype=np.intp)


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

    def throughput(self, rows: Rows) -> Sampled:
        """Return T_c(b) of these cells, which must be in this chunk."""
        return self._throughput.take(self._order[np.searchsorted(self._in_order, rows)])

    def speedup(self, rows: Rows) -> Sampled:
        """Return T_c(b) / T_identity(b) (study V-C)."""
        return self.throughput(rows) / self.throughput(self.panels.identity[rows])

    def rtr(self, rows: Rows) -> Sampled:
        """Return the relative throughput rate, T_c(b) / T_c(1) (study V-A4)."""
        return self.throughput(rows) / self.throughput(self.panels.single[rows])

    def bsr(self, rows: Rows) -> Sampled:
        """Return the batch scaling resilience, ASE_c(b) / ASE_identity(b) (study V-A4).

        Both efficiencies are at the same batch size, so their ratio is the ratio of the rates.
        """
        return self.rtr(rows) / self.rtr(self.panels.identity[rows])


def _stack_of(case: Case) -> tuple[object, ...]:
    return (case.model_label, case.width, case.precision, case.objective, case.device)
