"""Build and time single schedules, each in a process of its own, as MetaSchedule does."""

from __future__ import annotations

import math
from typing import Any

from pytest_ngraph.compilers.tvm import imports

BUILD_TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 30.0


def builder(workers: int) -> Any:
    """Builds candidates in so many processes."""
    from tvm.s_tir import meta_schedule

    return meta_schedule.builder.LocalBuilder(
        max_workers=workers, timeout_sec=BUILD_TIMEOUT_S, initializer=imports.import_tensor_intrinsics
    )


def runner() -> Any:
    """Runs candidates one after another."""
    from tvm.s_tir import meta_schedule

    return meta_schedule.runner.LocalRunner(timeout_sec=RUN_TIMEOUT_S)


def measure(modules: list[Any], tvm_target: Any) -> list[float]:
    """Seconds that each scheduled kernel takes; infinity for one that fails."""
    from tvm.s_tir.meta_schedule.builder import BuilderInput
    from tvm.s_tir.meta_schedule.runner import RunnerInput

    workers = int(tvm_target.attrs.get("num-cores", 1))
    built = builder(workers).build([BuilderInput(module, tvm_target) for module in modules])
    pairs = list(zip(modules, (result.artifact_path for result in built), strict=True))
    runs = runner().run([RunnerInput(str(path), "cpu", arguments(module)) for module, path in pairs if path])
    seconds = (mean(future.result().run_secs) for future in runs)
    return [next(seconds) if path else math.inf for _, path in pairs]


def mean(run_secs: Any) -> float:
    """Mean of what a run reports; infinity where it failed."""
    values = [float(value) for value in run_secs or ()]
    return sum(values) / len(values) if values else math.inf


def arguments(module: Any) -> Any:
    """Shapes and types of a kernel's parameters, as a runner allocates them."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return ArgInfo.from_entry_func(module)
