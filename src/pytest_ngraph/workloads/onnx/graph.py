"""Read, fix and write the graph of an ONNX file."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.wording import first_line
from pytest_ngraph.workloads.onnx import custom_operators, runtime
from pytest_ngraph.workloads.onnx.nodes import fed, nodes_of, stored_tensors, without_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ngraph.case import Case

EXTERNAL_BYTES = 1 << 30
"""Weights above this size are written into a file beside the graph: one protobuf message holds at most 2 GiB."""
WEIGHTS = ".ngraph.data"
"""The end of that file's name. onnx refuses a name that something has in the working folder, so nobody else uses it."""

QUANTIZING = re.compile("Quantize(?!d)|^(Conv|MatMul)Integer|^Q(Linear|Ordered|Attention|Gemm)")
"""Parts of the names of operators that round values to eight bits, or take such: ONNX's, and those that ONNX Runtime
fuses them into. `Quantized` is in names of operators whose weights alone are."""
TO_EIGHT_BITS = 4
"""The `accuracy_level` at which operators with weights of few bits (`MatMulNBits`) also round what they multiply."""
DRAWING = (
    "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli",
)  # fmt: skip
DROPPING = {"Dropout": 2, "BitmaskDropout": 2, "BiasDropout": 4, "BitmaskBiasDropout": 4}
"""Operators that draw in training mode only, and which of their inputs is the mode."""


def read(path: Path, case: Case) -> tuple[Any, tuple[str, ...]]:
    """Return the model with all its weights in memory, and the libraries with operators that it needs.

    What ONNX Runtime loads is sound, also where it breaks a rule of the format: published files state no shape for an
    output, or use a name twice.

    Raises:
        UsageError: the file is damaged, or refers to weights outside its own folder. An untrusted file must not make
            this process read other files. Or a library cannot be loaded.
        Unsupported: a library is not installed.
    """
    import onnx

    try:
        model = onnx.load(path, load_external_data=False)
    except Exception as error:  # the parser may raise any exception
        raise _damaged(path, error) from error
    for tensor in _tensors(model):
        _refuse_outside(path, tensor)
    custom_ops = custom_operators.libraries(model, case)
    try:
        onnx.load_external_data_for_model(model, str(path.parent))
    except Exception as error:
        raise _damaged(path, error) from error
    try:
        onnx.checker.check_model(str(path))
    except Exception as error:
        if runtime.refusal(path, custom_ops, optimized=False):
            raise _damaged(path, error) from error
    return model, custom_ops


def name_nodes(graph: Any) -> None:
    """Name each node that has no name after its first output, in place: profiles lead kernels back to nodes by name.

    The format requires no names. ONNX Runtime refuses a file that has one twice.
    """
    taken = {node.name for node in graph.node}
    for node in graph.node:
        if node.name:
            continue
        node.name = next(filter(None, node.output), node.op_type)
        while node.name in taken:
            node.name += "_"
        taken.add(node.name)


def write(model: Any, path: Path) -> list[Path]:
    """Write the model, large weights into a second file beside it, in place of earlier files. Return the files."""
    import onnx

    if sum(len(tensor.raw_data) for tensor in _tensors(model)) < EXTERNAL_BYTES:
        onnx.save_model(model, path)
        return [path]
    weights = path.with_suffix(WEIGHTS)
    weights.unlink(missing_ok=True)  # onnx would append to it
    onnx.save_model(model, path, save_as_external_data=True, location=weights.name, convert_attribute=True)
    onnx.load_external_data_for_model(model, str(path.parent))  # saving has moved them out of the model
    return [path, weights]


def files_of_weights(path: Path) -> set[str]:
    """Return the names of the files beside a graph in which it has weights."""
    import onnx

    tensors = _tensors(onnx.load(path, load_external_data=False))
    return {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}


def parameters(model: Any) -> int:
    """Return the number of weights: floats, and matrices and kernels in eight bits.

    It includes running statistics, because a file does not say which weights are learnable.
    """
    import onnx

    floats, eight_bits = _float_types(), (onnx.TensorProto.INT8, onnx.TensorProto.UINT8)
    return sum(
        math.prod(tensor.dims)
        for tensor in _weights(model)
        if tensor.data_type in floats or (tensor.data_type in eight_bits and len(tensor.dims) > 1)
    )


def precision(model: Any) -> str:
    """Return the precision of the file (fp32, fp64, ...): the type of most float weights, else of its inputs."""
    floats, sizes = _float_types(), _weights_by_type(model)
    if not any(kind in floats for kind in sizes):
        sizes.update(value.type.tensor_type.elem_type for value in fed(model))
    return next((floats[kind] for kind, _ in sizes.most_common() if kind in floats), "fp32")


def precisions(model: Any) -> tuple[str, ...]:
    """Return the precisions of the float weights and inputs of the file, sorted."""
    floats = _float_types()
    kinds = {*_weights_by_type(model), *(value.type.tensor_type.elem_type for value in fed(model))}
    return tuple(sorted(floats[kind] for kind in kinds if kind in floats))


def _weights_by_type(model: Any) -> Counter[int]:
    """Return how many weights have each of ONNX's types."""
    sizes: Counter[int] = Counter()
    for tensor in _weights(model):
        sizes[tensor.data_type] += math.prod(tensor.dims)
    return sizes


def _weights(model: Any) -> Iterator[Any]:
    """Yield the tensors that may be weights: initializers, and what nodes and nested graphs hold of several values.

    Single values of nodes are settings, in whatever type: an epsilon, a scale.
    """
    yield from model.graph.initializer
    for nodes in (model.graph.node, *(function.node for function in model.functions)):
        yield from (tensor for tensor in _node_tensors(nodes) if math.prod(tensor.dims) > 1)


def is_quantized(model: Any) -> bool:
    """Return whether an operator rounds to eight bits."""
    return any(QUANTIZING.search(node.op_type) or _rounds(node) for node in _all_nodes(model))


def _rounds(node: Any) -> bool:
    return any(each.name == "accuracy_level" and each.i == TO_EIGHT_BITS for each in node.attribute)


def draws(model: Any) -> bool:
    """Return whether an operator draws random numbers, or may draw: a mode can be an input, or be computed."""
    stored = stored_tensors(model.graph)
    return any(node.op_type in DRAWING or _may_drop(node, stored) for node in _all_nodes(model))


def _may_drop(node: Any, stored: Mapping[str, Any]) -> bool:
    import onnx

    mode: str = dict(enumerate(node.input)).get(DROPPING.get(node.op_type, -1), "")
    return bool(mode) and (mode not in stored or bool(onnx.numpy_helper.to_array(stored[mode]).any()))


def _all_nodes(model: Any) -> Iterator[Any]:
    """Yield the nodes of the graph, of those nested in it, and of functions."""
    yield from nodes_of(model.graph)
    for function in model.functions:
        yield from function.node


def infer_shapes(model: Any) -> str:
    """Infer the shapes of all values again, in place. Return what contradicts itself; empty where nothing does.

    Call it when the inputs' axes are fixed. Shapes that the file has at other sizes are removed. Outputs get what was
    inferred where the file states no shape, or leaves an axis open.
    """
    import onnx

    del model.graph.value_info[:]
    try:
        with without_values(_tensors(model)):
            inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    except Exception as error:  # ONNX Runtime decides whether the graph runs
        return first_line(error)
    model.graph.value_info.extend(inferred.graph.value_info)
    for value, known in zip(model.graph.output, inferred.graph.output, strict=True):
        value.CopyFrom(known)
    return ""


def has_control_flow(model: Any) -> bool:
    """Return whether the graph has branches or loops."""
    return any(node.op_type in ("If", "Loop", "Scan") for node in nodes_of(model.graph))


def reopen(model: Any, inputs: list[Any], outputs: list[Any]) -> None:
    """Give the graph's inputs and outputs back these types, in place, and forget the shapes inferred from others."""
    for field, values in (("input", inputs), ("output", outputs), ("value_info", [])):
        model.graph.ClearField(field)
        getattr(model.graph, field).extend(values)


def _float_types() -> dict[int, str]:
    import onnx

    kinds = onnx.TensorProto
    return {kinds.FLOAT: "fp32", kinds.FLOAT16: "fp16", kinds.BFLOAT16: "bf16", kinds.DOUBLE: "fp64"}


def _tensors(model: Any) -> Iterator[Any]:
    """Yield every tensor of the model: of its graph, the graphs nested in operators, and its functions."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Any) -> Iterator[Any]:
    for node in nodes:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for subgraph in (attribute.g, *attribute.graphs):
                yield from _graph_tensors(subgraph)


def _refuse_outside(path: Path, tensor: Any) -> None:
    """Raise `UsageError` for weights outside the file's folder, or behind a symbolic link, which onnx refuses."""
    folder = path.parent.resolve()
    for entry in tensor.external_data:
        if entry.key != "location":
            continue
        place = folder / entry.value
        if place.is_symlink() and place.parent.resolve().is_relative_to(folder):
            raise UsageError(
                f"{path}: weights {tensor.name!r} are in {entry.value}, which is a symbolic link. Copy the folder with "
                f"what its links lead to: cp -rL {path.parent} COPY."
            )
        if not place.resolve().is_relative_to(folder):
            raise UsageError(
                f"{path}: weights {tensor.name!r} lie outside its folder ({entry.value}). "
                f"Move them beside the file and save it again."
            )


def _damaged(path: Path, error: Exception) -> UsageError:
    if "should be stored in" in str(error):
        what, step = ("linked", "a copy of it") if "hard link" in str(error) else ("missing", "it")
        return UsageError(
            f"{path} has weights in another file, which is {what} ({first_line(error)}). Put {step} there."
        )
    return UsageError(
        f"{path} is not a valid ONNX file ({type(error).__name__}: {first_line(error)}). Export it again."
    )
