"""From an exported program to an executable: the library's own pipeline, or ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm import cpu, frontend, gpu, packing, passes
from pytest_ngraph.compilers.tvm.target import processor

if TYPE_CHECKING:
    import torch


def stock(program: torch.export.ExportedProgram, tvm_target: Any) -> Any:
    """What `tvm.compile` makes of the program as TVM imports it by default."""
    import tvm

    return tvm.compile(frontend.decomposed_relax_module(program), tvm_target)


def lower(program: torch.export.ExportedProgram, tvm_target: Any) -> Any:
    """The program as a module of fused kernels, ready to be scheduled or tuned. Where the importer or a pass does not
    take one of its operators whole, it is lowered as PyTorch decomposes it. Raise `Unsupported` where TVM does not know
    what that gives."""
    try:
        return _lowered(frontend.whole_relax_module(program), tvm_target)
    except Exception:
        return _lowered(frontend.decomposed_relax_module(program), tvm_target)


def _lowered(module: Any, tvm_target: Any) -> Any:
    on_cpu = tvm_target.kind.name == "llvm"
    module = passes.optimize(module, tvm_target, channels_last=on_cpu)
    return packing.pack_weights(module, processor(tvm_target)) if on_cpu else module


def build(module: Any, tvm_target: Any) -> tuple[Any, cpu.Coverage]:
    """An executable of a lowered module, each kernel scheduled by rule unless it is already."""
    import tvm

    if tvm_target.kind.name == "llvm":
        module, coverage = cpu.schedule(module, processor(tvm_target))
    else:
        module, coverage = gpu.schedule(module, tvm_target)
    return tvm.compile(module, tvm_target), coverage
