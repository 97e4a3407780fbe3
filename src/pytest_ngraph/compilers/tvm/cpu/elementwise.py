"""Schedule elementwise kernels.

They are bound by memory, so it is enough to read and write whole vectors on all cores.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import kernel

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor


def schedule(sch: Any, block: Any, processor: Processor) -> None:
    """Vectorize the innermost loop and run the outer ones in parallel.

    Loops are fused only until a vector fits: in fused loops, the indices of a transpose need a division per element.
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
    """Return which outer loop is contiguous in a buffer that the block transposes; None where it transposes none.

    In a transpose, a vector along the innermost loop gathers from as many cache lines as it has lanes. A few steps of
    the contiguous loop inside the innermost one use each whole line while it is in the cache.
    """
    *outer, innermost = kernel.axes(sch, block)
    for read in sch.get(block).reads:
        if not read.region:  # a scalar
            continue
        contiguous = read.region[-1].min
        if not kernel.uses(contiguous, innermost.var):
            return next((i for i, axis in enumerate(outer) if kernel.uses(contiguous, axis.var)), None)
    return None
