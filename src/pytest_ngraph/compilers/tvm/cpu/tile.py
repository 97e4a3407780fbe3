"""Choose the size of a register tile by a model of the processor instead of a table of shapes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor

# x86 and ARM cores with wide vectors of the last ten years do two multiply-adds and two loads per cycle. The result of
# a multiply-add can be used by the next one four cycles later.
MULTIPLY_ADDS_PER_CYCLE = 2
LOADS_PER_CYCLE = 2
MULTIPLY_ADD_LATENCY = 4


@dataclass(frozen=True, slots=True)
class Tile:
    """A part of a contraction's output that stays in registers: rows x (vectors * lanes) columns."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes

    @property
    def registers(self) -> int:
        """Number of registers: the accumulators, a row of vectors of the second operand, one broadcast value."""
        return self.rows * self.vectors + self.vectors + 1

    def cycles(self, rows: int, columns: int) -> float:
        """Return the cycles of one step of the reduction, over an output of rows x columns.

        The scarcest resource sets the cycles of a tile: arithmetic, loads, or the latency that too few accumulators
        cannot hide. Tiles that extend over the edge cost as much as the others.
        """
        arithmetic = self.rows * self.vectors / MULTIPLY_ADDS_PER_CYCLE
        loads = (self.rows + self.vectors) / LOADS_PER_CYCLE
        tiles = ceil(rows / self.rows) * ceil(columns / self.columns)
        return tiles * max(arithmetic, loads, MULTIPLY_ADD_LATENCY)


def best(rows: int, columns: int, processor: Processor, *, pads_rows: bool = False, pads_columns: bool = False) -> Tile:
    """Return the tile with the fewest cycles; among equals, the largest.

    With AVX-512 it is 14 rows x 2 vectors wherever they fit, with AVX2 6 x 2, with NEON 9 x 3.

    Args:
        pads_rows: whether tiles may extend over the last row; otherwise they divide the rows.
        pads_columns: the same for columns.
    """
    lanes = processor.lanes if pads_columns else processor.lanes_dividing(columns)
    tiles = (Tile(r, v, lanes) for r in range(1, rows + 1) for v in range(1, processor.registers))
    fitting = [
        tile
        for tile in tiles
        if tile.registers <= processor.registers
        and (pads_rows or rows % tile.rows == 0)
        and (pads_columns or columns % tile.columns == 0)
    ]
    return min(fitting, key=lambda tile: (tile.cycles(rows, columns), -tile.rows * tile.vectors))
