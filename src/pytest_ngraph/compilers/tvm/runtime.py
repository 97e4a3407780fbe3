"""Run a compiled library in TVM's virtual machine, on tensors that share memory with PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_ngraph.clock import Stopwatch, WallStopwatch
from pytest_ngraph.compilers import cuda, threads
from pytest_ngraph.compilers.profiling.tvm import ProfiledMachine
from pytest_ngraph.workloads.tensors import flatten

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Array, Node, Target

ALIGNMENT_BYTES = 64

# `tvm::runtime::threading::ThreadGroup::AffinityMode`
ONE_CORE_PER_THREAD = -2
ALL_THREADS_SHARE_CORES = -3


class TvmModel:
    """A library built by `tvm.compile`, with its inputs in place. A process must use it from one thread only."""

    concurrency = 1

    def __init__(self, library: Path, inputs: tuple[torch.Tensor, ...], target: Target, facts: dict[str, str]) -> None:
        import tvm

        size_thread_pool(target)
        self.stopwatch: Stopwatch = WallStopwatch()
        if target.kind == "cuda":
            self.stopwatch = cuda.CudaStopwatch(cuda.own_stream())
            _compute_on(tvm.cuda(0), cuda.own_stream().cuda_stream)
        device = tvm.cuda(0) if target.kind == "cuda" else tvm.cpu()
        self._machine = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(library)), device)
        self._main = self._machine["main"]
        self._inputs = tuple(align(tensor) for tensor in inputs)
        self.facts = facts | {"version": tvm.__version__, "provider": target.kind, "precision": target.precision}
        if target.kind == "cpu":
            self.facts["threads"] = str(tvm.get_global_func("runtime.NumThreads")())

    def __call__(self) -> object:
        return self._main(*self._inputs)

    def outputs(self) -> Sequence[Array]:
        return flatten(_as_tuples(self()))

    def instrumented(self, nodes: Sequence[Node]) -> ProfiledMachine:
        """Return this machine with a hook, of a model that is called by nothing else. `nodes` are the program's."""
        return ProfiledMachine(self._machine, self, nodes, self.close)

    def close(self) -> None:
        import tvm

        del self._main, self._machine, self._inputs
        if clear := tvm.get_global_func("vm.builtin.memory_manager.clear", allow_missing=True):
            clear()  # the machine's memory pool for activations outlives it, and grows with every model


@cache
def _compute_on(device: Any, stream: int) -> Any:
    """Make TVM's calls in this thread run on PyTorch's stream, which the stopwatch times, until the process ends."""
    import tvm_ffi

    context = tvm_ffi.use_raw_stream(device, stream)
    context.__enter__()  # never left: two models of a process would leave it in another order than they entered
    return context


def size_thread_pool(target: Target) -> None:
    """Make TVM's thread pool use the target's cores, one thread bound to each if this process binds threads."""
    import tvm

    mode = ONE_CORE_PER_THREAD if threads.is_bound() else ALL_THREADS_SHARE_CORES
    with threads.spread(target):
        tvm.get_global_func("runtime.config_threadpool")(mode, target.threads, [str(core) for core in target.cores])


def align(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, contiguous, at an address that is a multiple of 64 bytes, which compiled vector loads require.

    PyTorch's own allocations are aligned like this, but tensors that view an array's memory may not be.
    """
    import torch

    if tensor.is_contiguous() and tensor.data_ptr() % ALIGNMENT_BYTES == 0:
        return tensor
    memory = torch.empty(tensor.nbytes + ALIGNMENT_BYTES, dtype=torch.uint8, device=tensor.device)
    start = -memory.data_ptr() % ALIGNMENT_BYTES
    aligned = memory[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
    return aligned.copy_(tensor)


def _as_tuples(outputs: Any) -> Any:
    """Return TVM's arrays of outputs as tuples, which PyTorch can flatten."""
    import torch

    return outputs if isinstance(outputs, torch.Tensor) else tuple(_as_tuples(output) for output in outputs)
