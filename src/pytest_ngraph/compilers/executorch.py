"""ExecuTorch: the exported program, lowered to XNNPACK, in PyTorch's runtime for small devices."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ngraph.artifact import Array, Artifact, Kind, Target
from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.compilers import CompiledModel, program, refuse_precision, threads
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import executorch as profiling
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import executorch as serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.system.affinity import threads_of_this_process
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.nodes import nodes
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    import torch

FILE = "model.pte"
DELEGATION = "delegation.json"


@dataclass(frozen=True)
class ExecuTorch:
    """Runs the operators that XNNPACK supports there, and the rest in ExecuTorch's own kernels.

    The fact `delegated` says how many operators XNNPACK runs.
    """

    libraries: ClassVar[tuple[str, ...]] = ("executorch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)

    def for_priming(self) -> ExecuTorch:
        return self

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        # XNNPACK has kernels for these two. A graph in bf16 would run almost entirely in the portable kernels.
        refuse_precision("executorch", target, ("fp32", "fp16"))
        lowered = _lower(artifact)
        (folder / DELEGATION).write_text(json.dumps(_delegation(lowered)))
        profiling.keep_operations(lowered, folder)
        executable = _emit(lowered, artifact)
        _refuse_missing_kernels(executable, artifact)
        executable.save(str(folder / FILE))

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        with threads.spread(target):
            module = _open(folder, target, traces=False)
            model = ExecuTorchModel(module, program.inputs(artifact), self._facts(target, folder))
            try:
                model()
            except RuntimeError as error:
                reason = f"{first_line(error)}. Its log on the standard error names the operator"
                raise Unsupported(f"executorch does not run {artifact.case.workload}: {reason}") from error
            return model

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return the model with its event tracer."""
        inputs = program.inputs(artifact)
        with threads.spread(target):
            module = _open(compiled, target, traces=True)
            run = partial(module.forward, inputs, clone_outputs=False)
            return profiling.ProfiledMethod(module, run, profiling.kept_operations(compiled), nodes(artifact))

    def _facts(self, target: Target, folder: Path) -> dict[str, str]:
        from executorch.version import __version__

        return {
            "version": __version__,
            "precision": target.precision,
            "provider": "XnnpackBackend",
            "threads": str(_runtime()._threadpool_get_thread_count()),
            **json.loads((folder / DELEGATION).read_text()),
        }

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        return serving.deploy(compiled / FILE, folder)


class ExecuTorchModel:
    """A method that reads its inputs where they are and leaves its outputs in its own memory."""

    concurrency = 1

    def __init__(self, module: Any, inputs: tuple[torch.Tensor, ...], facts: dict[str, str]) -> None:
        self._module = module
        self._inputs = inputs
        self.facts = facts
        self.stopwatch = WallStopwatch()

    def __call__(self) -> object:
        return self._module.forward(self._inputs, clone_outputs=False)

    def outputs(self) -> Sequence[Array]:
        return flatten(self._module.forward(self._inputs, clone_outputs=True))

    def close(self) -> None:
        del self._module, self._inputs


def _runtime() -> Any:
    """Return the module that loads programs and has their threads."""
    importlib.import_module("torch")  # whose libraries it needs
    return importlib.import_module(f"{serving.BINDINGS}.{serving.bindings()}")


def _open(folder: Path, target: Target, *, traces: bool) -> Any:
    """Return what was compiled, loaded with its threads. `traces` is whether it notes the times of its kernels."""
    _start_threads(target)
    return _runtime()._load_for_executorch(str(folder / FILE), enable_etdump=traces)


def _lower(artifact: Artifact) -> Any:
    """Return the program in ExecuTorch's dialect, with everything that XNNPACK can run delegated to it.

    Raises `Unsupported` for operators that cannot be lowered.
    """
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from torch._export.verifier import SpecViolationError

    try:
        with torch.no_grad():
            return to_edge_transform_and_lower(program.load(artifact), partitioner=[XnnpackPartitioner()])
    except SpecViolationError as error:
        raise Unsupported(f"executorch cannot lower {artifact.case.workload}: {_reason(error)}") from error


def _delegation(lowered: Any) -> dict[str, str]:
    """Return how much of the graph XNNPACK runs, as facts."""
    from executorch.devtools.backend_debug import get_delegation_info

    info = get_delegation_info(lowered.exported_program().graph_module)
    counts = [count for name, count in info.delegation_by_operator.items() if name != "getitem"]
    delegated = sum(count.delegated for count in counts)
    operators = delegated + sum(count.non_delegated for count in counts)
    return {"delegated": f"{delegated} of {operators} operators", "partitions": str(info.num_delegated_subgraphs)}


def _emit(lowered: Any, artifact: Artifact) -> Any:
    """Return the lowered program in the runtime's format.

    Raises `Unsupported` for operators that cannot be expressed in it.
    """
    import torch

    try:
        with torch.no_grad():  # it runs writes into buffers, of what may depend on weights
            return lowered.to_executorch(_backend_config())
    except RuntimeError as error:
        if "Missing out variants" not in str(error):
            raise
        raise Unsupported(f"executorch cannot emit {artifact.case.workload}: {_reason(error)}") from error


def _backend_config() -> Any:
    """Return a configuration that reads inputs in place: by default each run first copies them into planned memory."""
    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.passes import MemoryPlanningPass

    return ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False))


def _refuse_missing_kernels(executable: Any, artifact: Artifact) -> None:
    """Raise `Unsupported` for operators without a kernel in the runtime, which itself names them only in its log."""
    from executorch.runtime import Runtime

    plan = executable.executorch_program.execution_plan[0]
    needed = {".".join(filter(None, (operator.name, operator.overload))) for operator in plan.operators}
    missing = sorted(needed - set(Runtime.get().operator_registry.operator_names))
    if missing:
        raise Unsupported(f"executorch has no kernel for {', '.join(missing)} of {artifact.case.workload}")


def _start_threads(target: Target) -> None:
    """Make the process's only thread pool, whose first thread is the caller, compute on the target's cores.

    A pool that already has this size is kept: loaded models refer to it, and resetting frees it.

    Raises:
        Unsupported: the runtime was built without functions for its threads, as version 1.0 for aarch64.
    """
    runtime, before = _runtime(), set(threads_of_this_process())
    if not hasattr(runtime, "_threadpool_get_thread_count"):
        raise Unsupported("this build of executorch cannot set its number of threads. Install version 1.1 or newer.")
    if runtime._threadpool_get_thread_count() != target.threads:  # the first query creates the pool
        runtime._unsafe_reset_threadpool(target.threads)
    threads.bind(sorted(set(threads_of_this_process()) - before), target.cores[1:])


def _reason(error: Exception) -> str:
    """Return the sentence of the error that names the operator; the rest is advice on ExecuTorch's interface."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = next((line for line in lines if line.startswith("Operator")), lines[0] if lines else "no reason given")
    return named.partition(" (http")[0]
