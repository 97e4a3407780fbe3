"""Export a workload as the artifact that every compiler starts from."""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Artifact, save_arrays
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads import Built, family
from pytest_ngraph.workloads.counts import count
from pytest_ngraph.workloads.tensors import cast, dtype, flatten, tensors_of, to_array
from pytest_ngraph.workloads.weights import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import torch

    from pytest_ngraph.case import Case


FLATTENED = "module."
"""What precedes the names of parameters in a program whose outputs are in one tuple."""


def export(case: Case, folder: Path) -> Artifact:
    """Let the case's family write its workload into `folder`, which is empty.

    Raises:
        UsageError: the workload is impossible, or its outputs cannot verify anything.
    """
    from pytest_ngraph.workloads.verify import unverifiable

    artifact = family(case.workload).export(case, folder)
    if problem := unverifiable(artifact.reference()):
        raise UsageError(
            f"{case.workload}: {problem}. Give it weights and inputs with which eager PyTorch computes finite values."
        )
    return artifact


def export_module(case: Case, built: Built, folder: Path) -> Artifact:
    """Export a PyTorch module: inputs, the outputs of eager fp32, and the program in the case's precision.

    If `torch.export` refuses the module, the artifact has no program, and `export_error` says why.
    """
    import torch

    from pytest_ngraph.workloads.verify import tolerance_of

    save_arrays(folder / "inputs.npz", [to_array(tensor) for tensor in built.inputs])
    outputs = _run(built, case)
    save_arrays(folder / "reference.npz", flatten(outputs))
    model = count(built)
    near_zero = hidden(built.module, tolerance_of(case.precision))
    is_flat = _is_flat(outputs)
    lowered = _lower(built if is_flat else _flattened(built), case)
    path = folder / "program.pt2"
    try:
        program = torch.export.export(lowered.module, lowered.inputs, strict=False)
        torch.export.save(program, path)
    except Exception as error:  # torch.export may raise any exception
        reason = f"{type(error).__name__}: {first_line(error)}"
        digest = _digest_of_module(lowered.module)
        return Artifact(
            folder=folder, case=case, export_error=reason, digest=digest, model=model, hidden=tuple(near_zero)
        )
    unused = _unused_parameters(program)
    prefix = "" if is_flat else FLATTENED
    used = tuple(name for name in near_zero if prefix + name not in unused)
    digest = _digest(_describe(program), {**program.state_dict, **_tensor_constants(program)})
    return Artifact(folder=folder, case=case, program=path, digest=digest, model=model, hidden=used)


def _unused_parameters(program: torch.export.ExportedProgram) -> set[str]:
    """Return the names of the parameters that the graph does not use."""
    names = program.graph_signature.inputs_to_parameters
    nodes = program.graph.find_nodes(op="placeholder")
    return {names[node.name] for node in nodes if node.name in names and not node.users}


def first_line(error: Exception) -> str:
    """Return the first line of an error's message: libraries append listings and advice to theirs."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")


def _run(built: Built, case: Case) -> object:
    """Return the module's outputs. Raise `UsageError` where they cannot be compared, or a call cannot be repeated."""
    import torch

    versions = [tensor._version for tensor in built.inputs]
    # Not inference mode: a module may keep tensors of its first call, and tensors of that mode cannot be exported.
    with torch.no_grad():
        outputs = built.module(*built.inputs)
    if not flatten(outputs):
        raise UsageError(
            f"{case.workload} returns {type(outputs).__name__}, which contains no tensor. Return a tensor, or tensors "
            "in tuples, lists and dicts, so that outputs can be verified."
        )
    changed = [index for index, tensor in enumerate(built.inputs) if tensor._version != versions[index]]
    if changed:
        raise UsageError(
            f"{case.workload} changes its input {changed[0]} in place, so that each call would start from the changed "
            "values of the call before. Work on a copy: x = x.clone()."
        )
    return outputs


def _is_flat(outputs: object) -> bool:
    """Return whether every compiler accepts outputs of this form."""
    import torch

    return isinstance(outputs, torch.Tensor) or (
        type(outputs) is tuple and all(isinstance(each, torch.Tensor) for each in outputs)
    )


def _flattened(built: Built) -> Built:
    """Return the workload with its output tensors in one tuple.

    Some compilers cannot return dicts, the user's own types, numbers or None.
    """
    import torch

    class Flattened(torch.nn.Module):
        def __init__(self, module: torch.nn.Module) -> None:
            super().__init__()
            self.module = module

        def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(tensors_of(self.module(*inputs)))

    return Built(Flattened(built.module).eval(), built.inputs)


def _lower(built: Built, case: Case) -> Built:
    """Return the workload in the case's precision. Lower precisions get a copy: the user may keep the module."""
    if case.precision == "fp32":
        return built
    module = copy.deepcopy(built.module).to(dtype(case.precision))
    return Built(module, tuple(cast(tensor, case.precision) for tensor in built.inputs))


def _describe(program: torch.export.ExportedProgram) -> Iterable[str]:
    """Yield the graph as text: the operations of it and its subgraphs, and the types and shapes of its inputs.

    The `.pt2` archive itself is not hashed, because it holds source lines and times.
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


def _digest_of_module(module: torch.nn.Module) -> str:
    """Return the digest of a module without a program. The state of some modules holds more than tensors."""
    import torch

    state = module.state_dict()
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    others = [f"{name}: {value!r}" for name, value in state.items() if name not in tensors]
    return _digest([str(module), *others], tensors)


def _digest(texts: Iterable[str], tensors: dict[str, torch.Tensor]) -> str:
    """Return the SHA-256 of the texts and of the tensors' names, types, shapes and bytes."""
    import torch

    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
