"""Build and time schedules in separate processes, as MetaSchedule does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers import threads
from pytest_ngraph.compilers.tvm import imports
from pytest_ngraph.compilers.tvm.database import FAILED_S
from pytest_ngraph.compilers.tvm.runtime import size_thread_pool
from pytest_ngraph.system.child import die_with_parent

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Target

BUILD_TIMEOUT_S = 60.0
RUN_TIMEOUT_S = 30.0
BUILDS_PER_PROCESS = 128
"""A building process is replaced after this many builds, because LLVM keeps some memory of each."""


class Rig:
    """Processes that build candidates, one per core that may compile, and one process that runs them in turn.

    They start when first needed and are kept, because starting one takes as long as building ten kernels.
    MetaSchedule's `LocalBuilder` starts new ones for each round.
    """

    def __init__(self, tvm_target: Any, target: Target) -> None:
        self._tvm_target = tvm_target
        self._target = target

    @cached_property
    def _builders(self) -> Any:
        from tvm.support.popen_pool import PopenPoolExecutor

        return PopenPoolExecutor(
            max_workers=len(threads.compiling_cores()),
            timeout=BUILD_TIMEOUT_S,
            initializer=start_building,
            maximum_process_uses=BUILDS_PER_PROCESS,
        )

    @cached_property
    def _runner(self) -> Any:
        from tvm.support.popen_pool import PopenPoolExecutor

        return PopenPoolExecutor(
            max_workers=1, timeout=RUN_TIMEOUT_S, initializer=start_running, initargs=(self._target,)
        )

    def seconds(self, modules: Sequence[Any], order: Sequence[int] | None = None) -> Iterator[float]:
        """Build scheduled kernels and time them.

        Args:
            modules: the scheduled kernels.
            order: positions in `modules`, in the order of the runs, each as often as it is to run. By default each runs
                once.

        Yields:
            The seconds of each run, as soon as it ends; `FAILED_S` for one that fails.
        """
        paths = self._build(modules)
        try:
            for number in range(len(modules)) if order is None else order:
                yield self._run(paths[number], modules[number])
        finally:
            for path in filter(None, paths):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _build(self, modules: Sequence[Any]) -> list[Path | None]:
        """Return the library of each; None for one that could not be built in time."""
        results = self._builders.map_with_error_catching(build, [(module, self._tvm_target) for module in modules])
        return [Path(result.value) if _is_complete(result) else None for result in results]

    def _run(self, library: Path | None, module: Any) -> float:
        if library is None:
            return FAILED_S
        shapes = tuple(argument.as_json() for argument in arguments(module))
        (result,) = self._runner.map_with_error_catching(run, [(str(library), shapes)])
        return float(result.value) if _is_complete(result) else FAILED_S

    def close(self) -> None:
        """End the processes. A pool that is left to the garbage collector, as in MetaSchedule's `LocalRunner`, may
        deadlock.
        """
        for pool in ("_builders", "_runner"):
            if pool in vars(self):
                vars(self)[pool].shutdown()


def mean(run_secs: Any) -> float:
    """Return the mean of the seconds that a run reports; `FAILED_S` where it failed."""
    values = [float(value) for value in run_secs or ()]
    return sum(values) / len(values) if values else FAILED_S


def arguments(module: Any) -> Any:
    """Return the shapes and types of a kernel's parameters, as a runner allocates them."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return ArgInfo.from_entry_func(module)


def start_building() -> None:
    """Prepare a process that builds.

    It inherits the CPU mask of the thread that started it, which TVM has already bound to one core.
    """
    die_with_parent()
    threads.use_all_cores()
    imports.import_tensor_intrinsics()


def start_running(target: Target) -> None:
    """Prepare the process that runs: kernels get the same threads as in the model."""
    die_with_parent()
    size_thread_pool(target)


def build(candidate: tuple[Any, Any]) -> str:
    """Build a module for a target, in a process of the pool. Return the library's path."""
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build, default_export

    return str(default_export(default_build(*candidate, None)))


def run(candidate: tuple[str, tuple[Any, ...]]) -> float:
    """Return the mean seconds of a library's kernel on arguments of these shapes, in a process of the pool."""
    import numpy as np
    import tvm
    from tvm.s_tir.meta_schedule.runner import EvaluatorConfig
    from tvm.s_tir.meta_schedule.runner.local_runner import default_alloc_argument, default_run_evaluator

    library, shapes = candidate
    (filled,) = default_alloc_argument(tvm.cpu(), shapes, 1)
    for argument in filled:
        if "int" in str(argument.dtype):  # a random index would read out of bounds
            argument.copyfrom(np.zeros(argument.shape, str(argument.dtype)))
    return mean(default_run_evaluator(tvm.runtime.load_module(library), tvm.cpu(), EvaluatorConfig(), [filled]))


def _is_complete(result: Any) -> bool:
    from tvm.support.popen_pool import StatusKind

    return bool(result.status == StatusKind.COMPLETE)
