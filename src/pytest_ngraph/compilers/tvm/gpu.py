"""Schedule kernels for a GPU, with the rules of dlight, which comes with TVM."""

from __future__ import annotations

from typing import Any

from pytest_ngraph.compilers.tvm.cpu import Coverage


def schedule(module: Any, tvm_target: Any) -> tuple[Any, Coverage]:
    """Schedule every kernel by the first rule of dlight that fits. The last rule fits all."""
    from tvm.s_tir import dlight
    from tvm.tirx import PrimFunc

    gpu = dlight.gpu
    rules = (gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction(), gpu.Fallback())
    with tvm_target:
        module = dlight.ApplyDefaultSchedule(*rules)(module)
    kernels = [function for _, function in module.functions_items() if isinstance(function, PrimFunc)]
    return module, Coverage(by_rule=len(kernels))
