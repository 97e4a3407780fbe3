"""Turn an exported program into an executable, by TVM's own pipeline or by ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ngraph.compilers.tvm import cpu, frontend, gpu, packing, passes
from pytest_ngraph.compilers.tvm.target import processor

if TYPE_CHECKING:
    import torch


def stock(program: torch.export.ExportedProgram, tvm_target: Any) -> Any:
    """Compile the program as TVM does by default, import included."""
    import tvm

    return tvm.compile(frontend.decomposed_relax_module(program), tvm_target)


def lower(program: torch.export.ExportedProgram, tvm_target: Any) -> Any:
    """Return the program as a module of fused kernels, ready to be scheduled or tuned.

    If the importer or a pass cannot take an operator whole, the program is decomposed by PyTorch first.

    Raises:
        Unsupported: TVM does not know an operator of the decomposed program either.
    """
    try:
        return _lowered(frontend.whole_relax_module(program), tvm_target)
    except Exception:
        return _lowered(frontend.decomposed_relax_module(program), tvm_target)


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
