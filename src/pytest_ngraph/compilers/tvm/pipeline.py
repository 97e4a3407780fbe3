"""Turn an exported program or an ONNX file into an executable, by TVM's own pipeline or by ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from pytest_ngraph.compilers.tvm import cpu, gpu, packing, passes
from pytest_ngraph.compilers.tvm.target import processor


def stock(importers: Sequence[Callable[[], Any]], tvm_target: Any) -> Any:
    """Compile the workload as TVM does by default, import included. `frontend.importers` returns the importers."""
    import tvm

    return tvm.compile(importers[-1](), tvm_target)


def lower(importers: Sequence[Callable[[], Any]], tvm_target: Any) -> Any:
    """Return the workload as a module of fused kernels, ready to be scheduled or tuned.

    Where an importer or a pass cannot take what the importer makes, the next importer follows.

    Raises:
        Unsupported: TVM does not know an operator, as its default importer has it.
    """
    for each in importers[:-1]:
        with suppress(Exception):
            return _lowered(each(), tvm_target)
    return _lowered(importers[-1](), tvm_target)


def _lowered(module: Any, tvm_target: Any) -> Any:
    on_cpu = tvm_target.kind.name == "llvm"
    module = passes.optimize(module, tvm_target, channels_last=on_cpu)
    return packing.pack_weights(module, processor(tvm_target)) if on_cpu else module


def build(module: Any, tvm_target: Any) -> tuple[Any, cpu.Coverage]:
    """Return an executable of a lowered module. Kernels that are not scheduled yet are scheduled by rule."""
    import tvm

    if tvm_target.kind.name == "llvm":
        module, coverage = cpu.schedule(module, processor(tvm_target))
    else:
        module, coverage = gpu.schedule(module, tvm_target)
    return tvm.compile(module, tvm_target), coverage
