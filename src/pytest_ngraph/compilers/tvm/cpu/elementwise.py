"""Elementwise kernels: bound by memory, so that it is enough to read and write whole vectors on all cores."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import kernel

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor


def schedule(sch: Any, block: Any, processor: Processor) -> None:
    """Vectorize the innermost loop and run the outer ones in parallel.

    They are fused only as far as a vector needs: fused, the indices of a transpose take a division for each element.
    """
    elements = prod(kernel.shape(sch, block))
    strided = _strided_axis(sch, block)
    *outer, innermost = sch.get_loops(block)
    while outer and kernel.extent(sch, innermost) < processor.lanes:
        innermost = sch.fuse(outer.pop(), innermost)
    vectors, lane = sch.split(innermost, [None, processor.lanes_dividing(kernel.extent(sch, innermost))])
    if strided is not None and strided < len(outer):
        steps = processor.lanes_dividing(kernel.extent(sch, outer[strided]))
        outer[strided], step = sch.split(outer[strided], [None, steps])
        sch.reorder(*outer, vectors, step, lane)
    if kernel.extent(sch, lane) > 1:
        sch.vectorize(lane)
    if processor.is_worth_waking_threads(elements):
        sch.parallel(sch.fuse(*outer) if outer else vectors)


def _strided_axis(sch: Any, block: Any) -> int | None:
    """Which of the outer loops is contiguous in a buffer that the block transposes; None where it transposes none.

    A vector along the innermost loop then gathers from as many cache lines as it has lanes. A few steps of this loop
    within that one use the whole of each line while it is in the cache.
    """
    *outer, innermost = kernel.axes(sch, block)
    for read in sch.get(block).reads:
        if not read.region:  # a scalar
            continue
        contiguous = read.region[-1].min
        if not kernel.uses(contiguous, innermost.var):
            return next((i for i, axis in enumerate(outer) if kernel.uses(contiguous, axis.var)), None)
    return None
