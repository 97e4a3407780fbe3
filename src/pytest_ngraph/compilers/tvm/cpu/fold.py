"""Schedule folds over axes that are not contiguous, such as pooling and means over an image: channels in vectors."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import kernel

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor


def schedule(sch: Any, block: Any, processor: Processor) -> None:
    """Fold whole vectors of channels, each in a register; in parallel over all other elements of the result."""
    axes = kernel.axes(sch, block)
    *outer, channels = (axis for axis in axes if not axis.is_reduction)
    reduction = [axis.loop for axis in axes if axis.is_reduction]
    vectors, lane = sch.split(channels.loop, [None, processor.lanes_dividing(channels.extent)])
    sch.reorder(*(axis.loop for axis in outer), vectors, *reduction, lane)
    if kernel.extent(sch, lane) > 1:
        sch.vectorize(lane)
    elements = sch.fuse(*(axis.loop for axis in outer), vectors)
    if processor.is_worth_waking_threads(prod(axis.extent for axis in axes)):
        sch.parallel(elements)
    sch.decompose_reduction(block, sch.get_loops(block)[1])
