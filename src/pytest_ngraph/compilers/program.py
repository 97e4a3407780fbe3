"""Read back what the export wrote: the program, its inputs on a device, and a call's outputs as flat arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads.tensors import cast, flatten

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.artifact import Artifact

__all__ = ["flatten", "inputs", "load"]


def load(artifact: Artifact) -> torch.export.ExportedProgram:
    """The exported program, on the CPU. Its `module()` takes `inputs(artifact)`.

    Raise `Unsupported` for an ONNX file, which has none, and `NgraphError` for a model that `torch.export` refuses:
    that is the model's failure, not a limit of the compiler.
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


def inputs(artifact: Artifact, device: str = "cpu") -> tuple[torch.Tensor, ...]:
    """The artifact's inputs on `device`, contiguous: floats in the case's precision, others as they are."""
    import torch

    arrays = (torch.from_numpy(array) for array in artifact.inputs())
    return tuple(cast(tensor, artifact.case.precision).to(device).contiguous() for tensor in arrays)
