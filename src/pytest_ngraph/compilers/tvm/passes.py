"""Run the graph passes before scheduling: fold constants, choose the layout, fuse operators into kernels."""

from __future__ import annotations

from typing import Any

from pytest_ngraph.compilers.tvm.batch_norm import fold_batch_norm
from pytest_ngraph.compilers.tvm.fast_math import fast_math

CHANNELS_LAST = {
    "relax.nn.conv2d": ["NHWC", "HWIO"],
    "relax.nn.conv2d_transpose": ["NCHW", "IOHW"],  # TVM converts one after a convolution, and cannot lower it then
}


def optimize(module: Any, tvm_target: Any, *, channels_last: bool = True) -> Any:
    """Return the module with all operators lowered and fused into kernels, not scheduled.

    Args:
        channels_last: convert convolutions to this layout, where vectors hold output channels, which are contiguous and
            many.
    """
    from tvm import relax

    transform = relax.transform
    fold = [
        transform.CanonicalizeBindings(),
        transform.FoldConstant(),  # first: ConvertLayout crashes the process on arithmetic between constants
        fold_batch_norm,
        transform.CanonicalizeBindings(),  # again: ConvertLayout inserts transposes around renamed variables
    ]
    layout = [transform.ConvertLayout(CHANNELS_LAST)] if channels_last else []
    simplify = [
        transform.DecomposeOpsForInference(),
        transform.FoldConstant(),
        fast_math,
        transform.EliminateCommonSubexpr(),
        transform.DeadCodeElimination(),
    ]
    fuse = [
        transform.LegalizeOps(),
        transform.AnnotateTIROpPattern(),
        transform.FuseOps(),
        transform.FuseTIR(),
        transform.DeadCodeElimination(),
    ]
    with tvm_target:
        for step in (*fold, *layout, *simplify, *fuse):
            module = step(module)
    return module
