"""Read back what the export wrote: the program and its inputs on a device. Flatten a call's outputs to arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads import onnx_values
from pytest_ngraph.workloads.tensors import cast, flatten

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from pytest_ngraph.artifact import Artifact

__all__ = ["flatten", "inputs", "load", "onnx_file"]


def load(artifact: Artifact) -> torch.export.ExportedProgram:
    """Return the exported program, on the CPU. Its `module()` takes `inputs(artifact)`.

    Raises:
        Unsupported: the workload is an ONNX file, which has no exported program.
        NgraphError: `torch.export` refuses the model, which is the model's failure and no limit of the compiler.
    """
    import torch

    if artifact.export_error:
        raise NgraphError(f"torch.export refuses {artifact.case.workload}: {artifact.export_error}")
    if artifact.program is None:
        raise Unsupported(
            f"{artifact.case.workload} is an ONNX file, and this compiler takes PyTorch programs. "
            f"Use a compiler that reads ONNX."
        )
    return torch.export.load(artifact.program)


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
    """Return the artifact's inputs on `device`, contiguous: floats in the case's precision, others unchanged."""
    import torch

    arrays = (torch.from_numpy(array) for array in artifact.inputs())
    return tuple(cast(tensor, artifact.case.precision).to(device).contiguous() for tensor in arrays)
