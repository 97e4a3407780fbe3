"""Export a workload: the artifact that every compiler starts from."""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Artifact, save_arrays
from pytest_ngraph.tensors import cast, dtype, flatten, to_array
from pytest_ngraph.workloads import Built, family
from pytest_ngraph.workloads.counts import count

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import torch

    from pytest_ngraph.case import Case


def export(case: Case, folder: Path) -> Artifact:
    """Write the case's workload into `folder`, which is empty, as its family does."""
    return family(case.workload).export(case, folder)


def export_module(case: Case, built: Built, folder: Path) -> Artifact:
    """Export a PyTorch module: inputs, the outputs of eager fp32, and the program in the case's precision.

    A module that `torch.export` refuses yields an artifact without a program, and says why in `export_error`.
    """
    import torch

    save_arrays(folder / "inputs.npz", [to_array(tensor) for tensor in built.inputs])
    with torch.inference_mode():
        save_arrays(folder / "reference.npz", flatten(built.module(*built.inputs)))
    model = count(built)
    lowered = _lower(built, case)
    path = folder / "program.pt2"
    try:
        program = torch.export.export(lowered.module, lowered.inputs, strict=False)
        torch.export.save(program, path)
    except Exception as error:  # torch.export fails in as many ways as there are models
        reason = f"{type(error).__name__}: {first_line(error)}"
        digest = _digest([str(lowered.module)], lowered.module.state_dict())
        return Artifact(folder=folder, case=case, export_error=reason, digest=digest, model=model)
    digest = _digest(_describe(program), {**program.state_dict, **_tensor_constants(program)})
    return Artifact(folder=folder, case=case, program=path, digest=digest, model=model)


def first_line(error: Exception) -> str:
    """What went wrong in one line: libraries append listings and advice to theirs."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


def _lower(built: Built, case: Case) -> Built:
    """The workload in the case's precision. Lower precisions get a copy: the module may be one that the user keeps."""
    if case.precision == "fp32":
        return built
    module = copy.deepcopy(built.module).to(dtype(case.precision))
    return Built(module, tuple(cast(tensor, case.precision) for tensor in built.inputs))


def _describe(program: torch.export.ExportedProgram) -> Iterable[str]:
    """The graph as text: operations of it and its subgraphs, and the types and shapes that it takes.

    The `.pt2` archive itself is not hashed: it holds source lines and times.
    """
    import torch

    yield str(program.graph_signature)
    for node in program.graph.find_nodes(op="placeholder"):
        value = node.meta["val"]
        yield f"{node.name}: {value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else str(node)
    for part in program.graph_module.modules():
        if isinstance(part, torch.fx.GraphModule):
            yield part.code


def _tensor_constants(program: torch.export.ExportedProgram) -> dict[str, torch.Tensor]:
    import torch

    return {name: value for name, value in program.constants.items() if isinstance(value, torch.Tensor)}


def _digest(texts: Iterable[str], tensors: dict[str, torch.Tensor]) -> str:
    """SHA-256 over the texts and the tensors' names, types, shapes and bytes."""
    import torch

    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
