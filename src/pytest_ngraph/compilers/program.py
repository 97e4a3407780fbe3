"""Read back what the export wrote: the program and its inputs on a device. Flatten a call's outputs to arrays."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads.onnx import values as onnx_values
from pytest_ngraph.workloads.tensors import cast, flatten

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact, Target

__all__ = ["file", "flatten", "import_operators", "inputs", "load", "onnx_file", "precision", "untraceable"]


def load(artifact: Artifact) -> torch.export.ExportedProgram:
    """Return the exported program, on the CPU. Its `module()` takes `inputs(artifact)`. Raises as `file` does."""
    import torch

    path = file(artifact)
    import_operators(artifact.operators)
    if artifact.quantized:
        import torch.ao.quantization.fx._decomposed  # the operators of what PT2E quantizes
    with converting():
        return torch.export.load(path)


def file(artifact: Artifact) -> Path:
    """Return the file of the exported program.

    Raises:
        Unsupported: there is none, because the workload is an ONNX file or `torch.export` refuses it.
    """
    if artifact.export_error:
        raise Unsupported(_refusal(artifact))
    if artifact.program is None:
        raise Unsupported(
            f"{artifact.case.workload} is an ONNX file, and this compiler takes PyTorch programs. "
            f"Use a compiler that reads ONNX."
        )
    return artifact.program


def untraceable(artifact: Artifact, reason: str) -> Unsupported:
    """Return the error of a module that cannot be traced.

    Where `torch.export` refuses it, too, that reason comes first.

    Args:
        reason: why it cannot be traced.
    """
    return Unsupported(f"{_refusal(artifact)}; {reason}" if artifact.export_error else reason)


def _refusal(artifact: Artifact) -> str:
    return f"torch.export refuses {artifact.case.workload}: {artifact.export_error}"


def import_operators(modules: Iterable[str]) -> None:
    """Import the modules that register the operators of a program, in a process that may not have built it."""
    for module in modules:
        with suppress(ImportError):  # then PyTorch names the operator that it lacks
            importlib.import_module(module)


def onnx_file(artifact: Artifact, compiler: str) -> Path | None:
    """Return the ONNX file that the workload is; None where it is a PyTorch program.

    Raises:
        Unsupported: the graph takes or gives something other than tensors of numbers, which only ONNX Runtime does.
    """
    if unusual := onnx_values.reasons(artifact):
        raise Unsupported(
            f"{compiler} takes and gives tensors of numbers, and {artifact.case.workload} has {', '.join(unusual)}. "
            "Use onnxruntime or identity."
        )
    return artifact.onnx


def inputs(artifact: Artifact, device: str = "cpu") -> tuple[torch.Tensor, ...]:
    """Return the artifact's inputs on `device`, contiguous, in the types in which the program takes them."""
    import torch

    tensors = [torch.from_numpy(array) for array in artifact.inputs()]
    if artifact.input_types:
        typed = [tensor.to(getattr(torch, name)) for tensor, name in zip(tensors, artifact.input_types, strict=True)]
    else:
        typed = [cast(tensor, artifact.case.precision) for tensor in tensors]
    return tuple(tensor.to(device).contiguous() for tensor in typed)


def precision(artifact: Artifact, target: Target) -> str:
    """Return what the program computes in: the target's precision, or what a module that is left as it is has."""
    return ", ".join(artifact.precisions) or target.precision
