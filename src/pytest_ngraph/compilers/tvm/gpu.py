"""Schedule kernels for a GPU, with the rules of dlight, which comes with TVM."""

from __future__ import annotations

from typing import Any

from pytest_ngraph.compilers.tvm.cpu import IS_SCHEDULED, Coverage

LABEL = "dlight"
"""The fact `schedule` of models for a GPU: the rules of this project are for CPUs."""


def schedule(module: Any, tvm_target: Any) -> tuple[Any, Coverage]:
    """Schedule every kernel by the first rule of dlight that fits, or by its fallback, which fits all."""
    from tvm.s_tir import dlight

    gpu = dlight.gpu
    with tvm_target:
        module = dlight.ApplyDefaultSchedule(gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction())(module)
        by_rule = _scheduled(module)
        module = dlight.ApplyDefaultSchedule(gpu.Fallback())(module)
    return module, Coverage(by_rule=by_rule, by_fallback=_scheduled(module) - by_rule)


def _scheduled(module: Any) -> int:
    """Return how many kernels are scheduled."""
    from tvm.tirx import PrimFunc

    kernels = [function for _, function in module.functions_items() if isinstance(function, PrimFunc)]
    return sum(bool(kernel.attrs) and IS_SCHEDULED in kernel.attrs for kernel in kernels)
