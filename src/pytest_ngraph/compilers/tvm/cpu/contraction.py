"""Schedule matrix products and convolutions: a tile of the output stays in registers over the whole reduction.

    for each tile of rows x columns, in parallel:
        for each step of the reduction:       # position in the kernel and input channel, or the inner dimension
            load some vectors of the weights  # the columns: contiguous output channels
            for each row: broadcast one input value, multiply the vectors by it, add them to the row's accumulators
        epilogue (bias, activation, residual) on the tile, and store it

A step loads `rows + vectors` values for `rows x vectors` multiply-adds, so that a large tile is bound by arithmetic
and not by loads (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). A depthwise
convolution has the same form, except that each row loads its own vectors, because no channel is used twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import kernel, tile

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.cpu.kernel import Axis
    from pytest_ngraph.compilers.tvm.cpu.tile import Tile
    from pytest_ngraph.compilers.tvm.target import Processor


@dataclass(frozen=True, slots=True)
class Roles:
    """The axes of a contraction by what they index.

    Attributes:
        batch: axes of both operands.
        rows: axes of one operand only.
        columns: the innermost axis of the output.
        reduction: axes that are summed over.
    """

    batch: list[Axis]
    rows: list[Axis]
    columns: Axis
    reduction: list[Axis]

    @classmethod
    def of(cls, sch: Any, block: Any) -> Roles:
        axes = kernel.axes(sch, block)
        *others, columns = (axis for axis in axes if not axis.is_reduction)
        loads = kernel.operands(sch, block) or ()
        batch = [axis for axis in others if all(kernel.indexes(axis, load) for load in loads)]
        rows = [axis for axis in others if axis not in batch]
        return cls(batch, rows, columns, [axis for axis in axes if axis.is_reduction])

    @property
    def tiled_rows(self) -> int:
        """Number of rows that a tile can span: those along the innermost of their axes."""
        return self.rows[-1].extent if self.rows else 1

    def best_tile(self, processor: Processor, *, pads_rows: bool = False, pads_columns: bool = False) -> Tile:
        """Return the register tile for this contraction, see `tile.best`."""
        rows, columns = self.tiled_rows, self.columns.extent
        return tile.best(rows, columns, processor, pads_rows=pads_rows, pads_columns=pads_columns)


def schedule(sch: Any, block: Any, processor: Processor) -> None:
    """Schedule a contraction, with the block that reads it as the epilogue."""
    roles = Roles.of(sch, block)
    size = roles.best_tile(processor)
    outer_rows, inner_rows = _split_rows(sch, roles.rows, size.rows)
    column, vector, lane = sch.split(roles.columns.loop, [None, size.vectors, size.lanes])
    tiles = [*(axis.loop for axis in roles.batch), *_in_order(roles, size, outer_rows, column)]
    sch.reorder(*tiles, *(axis.loop for axis in roles.reduction), *inner_rows, vector, lane)
    outer = sch.fuse(*tiles)
    _store_from_registers(sch, block, outer, size.lanes)
    for loop in (*inner_rows, vector):
        sch.unroll(loop)
    sch.vectorize(lane)
    if processor.is_worth_waking_threads(_multiply_adds(roles)):
        sch.parallel(outer)
    sch.decompose_reduction(block, sch.get_loops(block)[1])


def _split_rows(sch: Any, rows: list[Axis], size: int) -> tuple[list[Any], list[Any]]:
    """Return the loops over tiles of rows, and the loop over the rows of a tile; none where there are no rows."""
    if not rows:
        return [], []
    *others, innermost = (axis.loop for axis in rows)
    outer, inner = sch.split(innermost, [None, size])
    return [*others, outer], [inner]


def _in_order(roles: Roles, size: Tile, rows: list[Any], column: Any) -> list[Any]:
    """Return the loops over tiles, ordered so that each pass of the inner loops reads the smaller operand again."""
    row_count = prod(axis.extent for axis in roles.rows)
    weights_again = roles.columns.extent * (row_count // size.rows)
    inputs_again = row_count * (roles.columns.extent // size.columns)
    return [column, *rows] if weights_again > inputs_again else [*rows, column]


def _multiply_adds(roles: Roles) -> int:
    return prod(axis.extent for axis in (*roles.batch, *roles.rows, roles.columns, *roles.reduction))


def _store_from_registers(sch: Any, block: Any, outer: Any, lanes: int) -> None:
    """Keep the block's result in registers within `outer`. Its epilogue stores it, or else a copy does."""
    readers = sch.get_consumers(block)
    if len(readers) == 1 and _is_epilogue(sch, readers[0], block):
        store = readers[0]
        sch.set_scope(block, 0, "local")
    else:
        store = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(store, outer)
    _, *rows, column = sch.get_loops(store)
    if kernel.extent(sch, column) % lanes == 0:
        vector, lane = sch.split(column, [None, lanes])
        sch.vectorize(lane)
        rows.append(vector)
    for loop in rows:
        sch.unroll(loop)


def _is_epilogue(sch: Any, reader: Any, block: Any) -> bool:
    """Return whether the reader is elementwise, reads no other block, and computes one element per element of this one.

    It may leave out the elements of padded rows.
    """
    if not kernel.is_elementwise(sch, reader) or len(sch.get_producers(reader)) > 1:
        return False
    read, computed = kernel.shape(sch, reader), kernel.shape(sch, block)
    return len(read) == len(computed) and read[-1] == computed[-1] and prod(read) <= prod(computed) < 2 * prod(read)
