"""Export a workload as the artifact that every compiler starts from."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ngraph.artifact import Artifact, save_arrays
from pytest_ngraph.case import FP32
from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads import Built, family, refusals, runs_user_code, torch_settings
from pytest_ngraph.workloads.copies import copied
from pytest_ngraph.workloads.counts import count
from pytest_ngraph.workloads.eager import eager_outputs
from pytest_ngraph.workloads.empty_tensors import drop_empty
from pytest_ngraph.workloads.flat import FLATTENED, flattened, is_flat
from pytest_ngraph.workloads.nodes import note
from pytest_ngraph.workloads.operators import homes
from pytest_ngraph.workloads.own_types import is_quantized, plain, precisions, unpacked, with_halves_of
from pytest_ngraph.workloads.structure import leaves, with_tensors
from pytest_ngraph.workloads.tensors import cast, in_order, input_array, module_in
from pytest_ngraph.workloads.weights import hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import torch

    from pytest_ngraph.artifact import Array
    from pytest_ngraph.case import Case


IN_LIST = re.compile(r"\[\d+\](?=.)")
"""Which part of a list or tuple something belongs to, in the path of an output: `output[0]['boxes']`."""
BRANCHES = ("cond", "while_loop")
"""Operators of PyTorch that compute one of several graphs, or one several times."""
LONGEST_REASON = 140
"""Characters of a refusal by `torch.export`: some contain whole expressions."""


def export(case: Case, folder: Path) -> Artifact:
    """Let the case's family write its workload into `folder`, which is empty.

    Raises:
        UsageError: the workload is impossible, or its outputs cannot verify anything.
    """
    from pytest_ngraph.workloads.verify import unverifiable

    with torch_settings.restored(needs_torch=runs_user_code(case.workload)):
        artifact = family(case.workload).export(case, folder)
    if problem := unverifiable(artifact.reference(), artifact.output_names):
        raise UsageError(
            f"{case.workload}: {problem}. Give it weights and inputs with which its outputs have finite values."
        )
    return artifact


def export_module(case: Case, built: Built, folder: Path) -> Artifact:
    """Export a PyTorch module: inputs, the outputs of eager fp32, and the program in the case's precision.

    If `torch.export` refuses the module, the artifact has no program, and `export_error` says why.
    """
    import torch

    from pytest_ngraph.workloads.verify import tolerance_of

    built = built.with_inputs(map(in_order, built.inputs))  # a program holds views that only one layout allows
    inputs_digest = save_arrays(folder / "inputs.npz", [input_array(tensor) for tensor in built.inputs])
    outputs = eager_outputs(built, case)
    save_arrays(folder / "reference.npz", outputs.arrays)
    near_zero = hidden(built.module, tolerance_of(case.precision))
    artifact = Artifact(
        folder=folder,
        case=case,
        inputs_digest=inputs_digest,
        input_names=built.input_names,
        output_names=tuple(leaf.path for leaf in leaves(outputs.returned, "output")),
        model=count(built, case.batch_size),
        hidden=tuple(near_zero),
        random=outputs.random,
        written=outputs.written,
        assigned=outputs.assigned,
        state=outputs.state,
        quantized=is_quantized(built.module),
    )
    if built.as_is:
        types = tuple(str(tensor.dtype).removeprefix("torch.") for tensor in built.inputs)
        artifact = replace(artifact, precisions=precisions(built), input_types=types)
    without_wrapper = is_flat(built, outputs.returned)
    lowered = _lower(built if without_wrapper else flattened(built), case)
    path = folder / "program.pt2"
    try:
        program = _exported(lowered)
        drop_empty(program)
        torch.export.save(program, path)
    except Exception as error:  # torch.export may raise any exception
        return replace(
            artifact,
            export_error=refusals.reason(error, LONGEST_REASON),
            data_dependent=_not_of_samples(artifact.output_names, outputs.arrays, case.batch_size),
            digest=_digest_of_module(lowered.module),
        )
    note(program, folder)
    unused = _unused_parameters(program)
    prefix = "" if without_wrapper else FLATTENED
    used = tuple(name for name in near_zero if prefix + name not in unused)
    return replace(
        artifact,
        program=path,
        quantized=artifact.quantized or is_quantized(program.graph_module),
        precisions=artifact.precisions if case.precision != FP32 else with_halves_of(program, artifact.precisions),
        data_dependent=_data_dependent(program, artifact.output_names),
        values_decide=_values_decide(program),
        digest=_digest(_describe(program), {**program.state_dict, **_tensor_constants(program)}),
        hidden=used,
        operators=homes(program, case.workload),
    )


def _exported(lowered: Built) -> torch.export.ExportedProgram:
    """Return the program of the module.

    `torch.export` runs the module's code on tensors without values. Code that looks at their type, or computes in
    NumPy, refuses these. Then PyTorch's strict mode reads the code instead, as torch.onnx has it, too. Where values
    decide what is computed, it does not help.
    """
    import torch
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

    def exported(*, strict: bool) -> torch.export.ExportedProgram:
        program = torch.export.export(lowered.module, lowered.args, strict=strict)
        _refuse_without_values(program)
        return program

    try:
        return exported(strict=False)
    except GuardOnDataDependentSymNode:
        raise
    except Exception as error:
        try:
            return exported(strict=True)
        except Exception:
            raise error from None


def _data_dependent(program: torch.export.ExportedProgram, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of a program's outputs have a size that values decide."""
    values = {node.name: node.meta.get("val") for node in program.graph.output_node().all_input_nodes}
    shapes = [getattr(values.get(output), "shape", ()) for output in program.graph_signature.user_outputs]
    return tuple(
        name for name, shape in zip(names, shapes, strict=False) if any(not isinstance(length, int) for length in shape)
    )


def _values_decide(program: torch.export.ExportedProgram) -> bool:
    """Return whether values decide sizes or branches in a program."""
    import torch

    for part in program.graph_module.modules():
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            value = node.meta.get("val")
            sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
            if any(isinstance(size, (torch.SymInt, torch.SymFloat, torch.SymBool)) for size in sizes):
                return True
            if str(node.target) in BRANCHES:
                return True
    return False


def _not_of_samples(names: Sequence[str], outputs: Sequence[Array], batch_size: int) -> tuple[str, ...]:
    """Return which outputs may have rows that are no samples of the batch, whose order and number is known.

    Of a list of dicts, one for each sample, the boxes of one may be as many as the samples by chance.
    """
    kinds = [IN_LIST.sub("[]", name) for name in names]
    other = {kind for kind, output in zip(kinds, outputs, strict=True) if output.shape[:1] not in ((), (batch_size,))}
    named = zip(names, kinds, outputs, strict=True)
    return tuple(name for name, kind, output in named if output.ndim and (kind in other or len(output) == 1))


def _unused_parameters(program: torch.export.ExportedProgram) -> set[str]:
    """Return the names of the parameters that the graph does not use."""
    names = program.graph_signature.inputs_to_parameters
    nodes = program.graph.find_nodes(op="placeholder")
    return {names[node.name] for node in nodes if node.name in names and not node.users}


def _lower(built: Built, case: Case) -> Built:
    """Return the workload in the case's precision. Lower precisions get a copy: the user may keep the module."""
    if case.precision == FP32:
        return built
    try:
        module = copied(built.module)
    except Exception as error:  # a user's module may hold anything
        raise UsageError(
            f"{case.workload}: its module cannot be copied ({type(error).__name__}: {first_line(error)}), as it has to "
            f"be before it is cast to {case.precision}. Leave out precision, or give its class a method __deepcopy__."
        ) from error
    module = module_in(module, case.precision)
    return replace(built.with_inputs(cast(tensor, case.precision) for tensor in built.inputs), module=module)


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


def _refuse_without_values(program: torch.export.ExportedProgram) -> None:
    """Raise `ValueError` if a constant has no values: PyTorch 2.7 makes such of what a gradient is taken of."""
    from torch._subclasses.fake_tensor import FakeTensor

    for name, value in program.constants.items():
        if isinstance(value, FakeTensor):
            raise ValueError(f"{name} of the program has no values")


def _digest_of_module(module: torch.nn.Module) -> str:
    """Return the digest of a module without a program. The state of some modules holds more than tensors."""
    import torch

    state = {name: unpacked(value) for name, value in module.state_dict().items()}
    tensors = dict(leaf for name, value in state.items() for leaf in leaves(value, name))
    empty = repeat(torch.empty(0))  # the text of a tensor shows only its corners
    others = [f"{name}: {with_tensors(value, empty)!r}" for name, value in state.items() if name not in tensors]
    for path, part in module.named_modules():
        if isinstance(part, torch.jit.ScriptModule) and hasattr(part, "code"):
            code, constants = part.code_with_constants  # a frozen one has its weights as constants
            others.append(f"{path}: {code}")
            tensors |= {f"{path}: {name}": value for name, value in constants.const_mapping.items()}
    return _digest([str(module), *others], tensors)


def _digest(texts: Iterable[str], tensors: dict[str, torch.Tensor]) -> str:
    """Return the SHA-256 of the texts and of the tensors' names, types, shapes, bytes and order in memory."""
    import torch

    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode())
    for name, tensor in (part for each in sorted(tensors.items()) for part in plain(*each)):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        if not tensor.is_contiguous():  # kernels for another layout take another time
            digest.update(str(tensor.stride()).encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
