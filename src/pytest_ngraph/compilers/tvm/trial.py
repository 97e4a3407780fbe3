"""Build and time schedules, each in a process of its own, as MetaSchedule does."""

from __future__ import annotations

import os
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
"""LLVM keeps some memory of every build."""


class Rig:
    """Processes that build candidates, as many as the target has cores, and one that runs them in turn.

    They start when they are first needed, and stay: starting one takes as long as building ten kernels, and
    MetaSchedule's `LocalBuilder` starts them anew for each round.
    """

    def __init__(self, tvm_target: Any, target: Target) -> None:
        self._tvm_target = tvm_target
        self._target = target

    @cached_property
    def _builders(self) -> Any:
        from tvm.support.popen_pool import PopenPoolExecutor

        return PopenPoolExecutor(
            max_workers=self._target.threads,
            timeout=BUILD_TIMEOUT_S,
            initializer=start_building,
            initargs=(self._target,),
            maximum_process_uses=BUILDS_PER_PROCESS,
        )

    @cached_property
    def _runner(self) -> Any:
        from tvm.support.popen_pool import PopenPoolExecutor

        return PopenPoolExecutor(
            max_workers=1, timeout=RUN_TIMEOUT_S, initializer=start_running, initargs=(self._target,)
        )

    def seconds(self, modules: Sequence[Any], order: Sequence[int] | None = None) -> Iterator[float]:
        """Build scheduled kernels and time them in this order, which may name one often; without it, each once.

        Each time is given as soon as it is known, `FAILED_S` for what fails.
        """
        paths = self._build(modules)
        try:
            for number in range(len(modules)) if order is None else order:
                yield self._run(paths[number], modules[number])
        finally:
            for path in filter(None, paths):
                shutil.rmtree(path.parent, ignore_errors=True)

    def _build(self, modules: Sequence[Any]) -> list[Path | None]:
        """A library of each; none of one that could not be built in time."""
        results = self._builders.map_with_error_catching(build, [(module, self._tvm_target) for module in modules])
        return [Path(result.value) if _is_complete(result) else None for result in results]

    def _run(self, library: Path | None, module: Any) -> float:
        if library is None:
            return FAILED_S
        shapes = tuple(argument.as_json() for argument in arguments(module))
        (result,) = self._runner.map_with_error_catching(run, [(str(library), shapes)])
        return float(result.value) if _is_complete(result) else FAILED_S

    def close(self) -> None:
        """End the processes. Left to the garbage collector, as MetaSchedule's `LocalRunner` leaves its own, a pool may
        deadlock."""
        for pool in ("_builders", "_runner"):
            if pool in vars(self):
                vars(self)[pool].shutdown()


def mean(run_secs: Any) -> float:
    """Mean of what a run reports; `FAILED_S` where it failed."""
    values = [float(value) for value in run_secs or ()]
    return sum(values) / len(values) if values else FAILED_S


def arguments(module: Any) -> Any:
    """Shapes and types of a kernel's parameters, as a runner allocates them."""
    from tvm.s_tir.meta_schedule.arg_info import ArgInfo

    return ArgInfo.from_entry_func(module)


def start_building(target: Target) -> None:
    """What a process that builds does first.

    It inherits the mask of the thread that started it, which TVM has bound to one core by then.
    """
    die_with_parent()
    if threads.is_bound():
        os.sched_setaffinity(0, target.cores)
    imports.import_tensor_intrinsics()


def start_running(target: Target) -> None:
    """What the process that runs does first: it gives kernels the threads that the model will have."""
    die_with_parent()
    size_thread_pool(target)


def build(candidate: tuple[Any, Any]) -> str:
    """Build a module for a target, in a process of the pool. The library's path."""
    from tvm.s_tir.meta_schedule.builder.local_builder import default_build, default_export

    return str(default_export(default_build(*candidate, None)))


def run(candidate: tuple[str, tuple[Any, ...]]) -> float:
    """Mean seconds of a library's kernel on arguments of these shapes and types, in a process of the pool."""
    import numpy as np
    import tvm
    from tvm.s_tir.meta_schedule.runner import EvaluatorConfig
    from tvm.s_tir.meta_schedule.runner.local_runner import default_alloc_argument, default_run_evaluator

    library, shapes = candidate
    (filled,) = default_alloc_argument(tvm.cpu(), shapes, 1)
    for argument in filled:
        if "int" in str(argument.dtype):  # a random index reads memory of others
            argument.copyfrom(np.zeros(argument.shape, str(argument.dtype)))
    return mean(default_run_evaluator(tvm.runtime.load_module(library), tvm.cpu(), EvaluatorConfig(), [filled]))


def _is_complete(result: Any) -> bool:
    from tvm.support.popen_pool import StatusKind

    return bool(result.status == StatusKind.COMPLETE)
