"""Schedule row-wise kernels: softmax and normalizations, which fold each row and then use it again.

    for each row, in parallel:
        its maximum; its exponentials, in a buffer of one row; their sum; the quotients

This takes one pass over memory instead of one per block, because the row stays in the first-level cache. The loops
within a row stay scalar in TVM. LLVM vectorizes them at any length, as `target.RELAXED_SUMS` permits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm.cpu import kernel

if TYPE_CHECKING:
    from pytest_ngraph.compilers.tvm.target import Processor


def applies(sch: Any) -> bool:
    """Return whether the kernel has folds, none a contraction, and each reduces a contiguous axis."""
    folds = _folds(sch)
    return bool(folds) and all(
        not kernel.is_contraction(sch, block) and _reduces_contiguous(sch, block) for block in folds
    )


def schedule(sch: Any, processor: Processor) -> None:
    """Compute all blocks of the kernel within one loop over rows."""
    *stages, last = kernel.blocks(sch)
    iterations = sum(kernel.iterations(sch, block) for block in (*stages, last))
    rows = min(len(kernel.shape(sch, block)) for block in _folds(sch))
    if kernel.is_elementwise(sch, last):
        rows = min(rows, len(kernel.shape(sch, last)) - 1)
    row = sch.fuse(*sch.get_loops(last)[:rows])
    for stage in reversed(stages):
        sch.compute_at(stage, row)
    if processor.is_worth_waking_threads(iterations):
        sch.parallel(row)


def _folds(sch: Any) -> list[Any]:
    return [block for block in kernel.blocks(sch) if not kernel.is_elementwise(sch, block)]


def _reduces_contiguous(sch: Any, block: Any) -> bool:
    """Return whether the block's innermost loop reduces the last axis of a buffer."""
    innermost = kernel.axes(sch, block)[-1]
    reads = sch.get(block).reads
    return innermost.is_reduction and any(kernel.uses(read.region[-1].min, innermost.var) for read in reads)
