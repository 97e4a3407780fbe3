"""Write the exported program, or a trace of the module, as an ONNX file, for compilers that read ONNX."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.compilers import program, pytorch
from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.nodes import SCOPES, source

if TYPE_CHECKING:
    import torch

ORIGIN = "pytest_ngraph.node"
"""Key of a node's property that names the operation of the exported program which it comes from."""
ELEMENT_TYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "bfloat16": 16,
}
"""`onnx.TensorProto.DataType` by PyTorch's name of the type."""


def write_onnx(artifact: Artifact, path: Path, *, opset: int | None = None, rewrite: bool = False) -> dict[str, int]:
    """Write the artifact's program in its precision to `path`, with large weights in a file beside it.

    Args:
        opset: version of ONNX's operators; None for the exporter's own choice.
        rewrite: fuse operators into those that only ONNX Runtime has, by the rules of `onnxscript.rewriter`.

    Returns:
        How often each of these rules was applied; empty without `rewrite`.

    Raises:
        Unsupported: ONNX lacks an operator, which the message names; also as `program.load` raises it.
    """
    import torch

    loaded = program.load(artifact)
    # Not in bf16: the optimizer leaves weights in fp32 where it folds a normalization into a convolution.
    optimize = artifact.case.precision != "bf16"
    # With gradients, attention whose mask is computed would be decomposed into views that its strides do not allow.
    with converting(), torch.no_grad():
        try:
            loaded = _with_attention_of_four_axes(loaded)
            made = torch.onnx.export(loaded, (), dynamo=True, verbose=False, optimize=optimize, opset_version=opset)
        except torch.onnx.errors.OnnxExporterError as error:
            raise Unsupported(f"torch.onnx cannot export {artifact.case.workload}: {_reason(error)}") from error
        assert made is not None
        _note_origins(made)
        counts = _rewrite(made) if rewrite else {}
        made.save(path, external_data=True)
    return counts


def write_traced_onnx(artifact: Artifact, target: Target, path: Path, *, opset: int | None = None) -> None:
    """Write a trace of the workload's module to `path`, by the exporter of `torch.onnx` that needs no program.

    The graph takes all of the artifact's inputs, in their order.

    Args:
        opset: as for `write_onnx`.

    Raises:
        Unsupported: the module cannot be traced, or ONNX lacks an operator. Where `torch.export` refuses the module,
            too, its reason stands first.
    """
    import torch

    with converting():  # with gradients: the user's code may train what it builds
        built = pytorch.rebuilt(artifact, target)
    with converting(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a trace fixes, and that this exporter is the older one
        names = [f"input{index}" for index in range(len(built.inputs))]
        try:
            trace, args = pytorch.traced_whole(built)  # the exporter's own trace takes no module that was scripted
            torch.onnx.export(trace, args, path, dynamo=False, input_names=names, opset_version=opset)
        except (MemoryError, torch.cuda.OutOfMemoryError):
            raise
        except Exception as error:  # tracing may raise anything
            stopped = f"torch.onnx cannot export a trace of it: {first_line(error)}"
            raise program.untraceable(artifact, stopped) from error
        _restore_inputs(path, dict(zip(names, built.inputs, strict=True)))


def _restore_inputs(path: Path, inputs: Mapping[str, torch.Tensor]) -> None:
    """Let the graph in a file take each of these inputs, in their order: the exporter drops what nothing reads."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    known = {each.name: each for each in model.graph.input}
    if list(known) == list(inputs):
        return
    restored = [
        known.get(name) or onnx.helper.make_tensor_value_info(name, element_type(tensor.dtype), tensor.shape)
        for name, tensor in inputs.items()
    ]
    del model.graph.input[:]
    model.graph.input.extend(restored)
    onnx.save(model, path)


def real(inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return the inputs as the exported file takes them: complex ones as real and imaginary part, along a last axis."""
    import torch

    return tuple(torch.view_as_real(tensor) if tensor.is_complex() else tensor for tensor in inputs)


def _with_attention_of_four_axes(loaded: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Return the program with attention over batch, heads, tokens and features: the exporter refuses other ranks."""
    import torch

    attention = torch.ops.aten.scaled_dot_product_attention.default
    calls = loaded.graph.find_nodes(op="call_function", target=attention)
    if all(call.args[0].meta["val"].dim() == 4 for call in calls):
        return loaded

    def of_four_axes(
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        attn_mask: torch.Tensor | None = None,
        *options: Any,
        **named: Any,
    ) -> Any:
        if query.dim() == 4:
            return NotImplemented
        batch = query.shape[:-3]
        if attn_mask is not None:
            attn_mask = attn_mask.expand(*query.shape[:-1], key.shape[-2])
        four = [
            None if each is None else each.reshape(-1, *each.shape[len(batch) :])
            for each in (query, key, value, attn_mask)
        ]
        found = attention(*four, *options, **named)
        return found.reshape(*batch, *found.shape[1:])

    decomposed: torch.export.ExportedProgram = loaded.run_decompositions({attention: of_four_axes})
    return decomposed


def _note_origins(made: Any) -> None:
    """Note in each node of the graph which operation of the exported program it comes from."""
    if made.exported_program is None:
        return
    sources = {node.name: source(node) for node in made.exported_program.graph.nodes}
    for node in made.model.graph:
        scopes = ast.literal_eval(node.metadata_props.get(SCOPES, "[]"))
        if scopes and scopes[-1] in sources:
            node.metadata_props[ORIGIN] = sources[scopes[-1]]


def origins_of(graph: Any, *, noted: bool) -> dict[str, str]:
    """Return which operation each node of a graph comes from, by the node's name; empty where that is not known.

    Args:
        noted: whether nodes say it, as `write_onnx` noted it; else they are the operations themselves.
    """
    return {node.name: _origin(node) if noted else node.name for node in graph.node}


def _origin(node: Any) -> str:
    return next((each.value for each in node.metadata_props if each.key == ORIGIN), "")


def _rewrite(made: Any) -> dict[str, int]:
    """Rewrite an exported program in place, and return how often each rule was applied."""
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    made.model, counts = optimize_for_ort(made.model)
    return {name: count for name, count in counts.items() if count}


def _reason(error: BaseException) -> str:
    """Return the first line of the original error: the errors raised from it hold advice on reporting bugs."""
    while error.__cause__ is not None:
        error = error.__cause__
    return str(error).partition("\n")[0]


def element_type(dtype: torch.dtype) -> int:
    """Return ONNX's number of a type of PyTorch."""
    return ELEMENT_TYPES[str(dtype).removeprefix("torch.")]


def save_optimized(options: Any, file: Path, *, weights_apart: bool) -> None:
    """Let a session with these options write the graph as it optimized it.

    Args:
        options: an `onnxruntime.SessionOptions`.
        weights_apart: large weights come into a file beside it, `NAME.data`.
    """
    options.optimized_model_filepath = str(file)
    if weights_apart:
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", f"{file.name}.data")
