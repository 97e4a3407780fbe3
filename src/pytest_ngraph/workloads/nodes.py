"""The operations of a program or an ONNX file, with the modules that they belong to.

Those of a program are noted when it is exported: PyTorch takes seconds to read a program back.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from pytest_ngraph.artifact import Artifact, Node
from pytest_ngraph.workloads.flat import FLATTENED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import torch

NOTED = "nodes.json"
"""File in the folder of an artifact that has the operations of its program."""
WRAPPER = FLATTENED.removesuffix(".")
SCOPES = "pkg.torch.onnx.name_scopes"
"""Key of a node's property in which PyTorch's exporter notes its modules, the outermost first, and its own name."""
LONGEST_ATTRIBUTE = 60
"""Characters of an argument that are kept: some are whole tensors."""
COMPUTED = "_"
"""What stands in a list of arguments for the result of another operation."""


def nodes(artifact: Artifact) -> list[Node]:
    """Return the operations of the exported program or the ONNX file; none for a module that has no program."""
    if artifact.onnx is not None:
        return of_onnx(artifact.onnx)
    if artifact.program is None:
        return []
    return [Node.from_dict(each) for each in json.loads((artifact.folder / NOTED).read_bytes())]


def note(program: torch.export.ExportedProgram, folder: Path) -> None:
    """Write the operations of a program into the folder of its artifact, where `nodes` finds them."""
    (folder / NOTED).write_text(json.dumps([node.to_dict() for node in _of_program(program)]))


def source(node: torch.fx.Node) -> str:
    """Return the name, in the exported program, of the operation that this one was made from."""
    made_from = node.meta.get("from_node")
    if not made_from:
        return str(node.name)
    last = made_from[-1]
    while getattr(last, "from_node", None):
        last = last.from_node[-1]
    return str(last.name)


def module_of(node: torch.fx.Node) -> str:
    """Return the path of the module that an operation belongs to."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    return str(stack[-1][0]) if stack else ""


def without_wrapper(paths: list[str]) -> list[str]:
    """Return the paths without the module that makes inputs and outputs flat, or one like it, if all are in it."""
    while paths and all(path.partition(".")[0] == WRAPPER for path in paths):
        paths = [path.partition(".")[2] for path in paths]
    return paths


def _of_program(program: torch.export.ExportedProgram) -> list[Node]:
    operations = [node for node in program.graph.nodes if node.op == "call_function"]
    names = {node.name for node in operations}
    paths = without_wrapper([module_of(node) for node in operations])
    return [
        Node(
            name=node.name,
            operator=_operator(node.target),
            module=path,
            type=_type(node.meta.get("val")),
            shape=_shape(node.meta.get("val")),
            attributes=", ".join(_attributes(node)),
            inputs=tuple(each.name for each in node.all_input_nodes if each.name in names or _is_input(program, each)),
        )
        for node, path in zip(operations, paths, strict=True)
    ]


def _is_input(program: torch.export.ExportedProgram, node: torch.fx.Node) -> bool:
    return node.name in program.graph_signature.user_inputs


def _operator(target: Any) -> str:
    """Return the plain name of an operator: `conv2d` of `aten.conv2d.default`, `relu` of `aten.relu_.default`."""
    schema = getattr(target, "_schema", None)
    name = str(schema.name).rpartition("::")[2] if schema else str(getattr(target, "__name__", target))
    return name.rstrip("_")


def _type(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.") if hasattr(value, "dtype") else ""


def _shape(value: Any) -> tuple[int | str, ...]:
    return tuple(size if isinstance(size, int) else str(size) for size in getattr(value, "shape", ()))


def _attributes(node: torch.fx.Node) -> Iterator[str]:
    """Yield the arguments of an operation: of weights the shape, of what other operations give nothing."""
    import torch

    for argument in (*node.args, *node.kwargs.values()):
        if not isinstance(argument, torch.fx.Node):
            yield _short(_in_list(argument))
        elif weight := _of_weight(argument):
            yield weight


def _in_list(argument: Any) -> str:
    """Return an argument that may be a list, without names in it: these are numbers that another operation shifts."""
    import torch

    if isinstance(argument, (list, tuple)):
        return f"[{', '.join(map(_in_list, argument))}]"
    if isinstance(argument, torch.fx.Node):
        return _of_weight(argument) or COMPUTED
    return str(argument)


def _of_weight(node: torch.fx.Node) -> str:
    """Return a weight or an input as an attribute; empty for the result of another operation."""
    if node.op not in ("placeholder", "get_attr"):
        return ""
    value = node.meta.get("val")
    return _weight(_shape(value)) + _layout(value)


def of_onnx(file: Path, *, traced: bool = False) -> list[Node]:
    """Return the operations of an ONNX file.

    Args:
        traced: whether it is a trace of a flattened module, in whose names each path begins with the wrapper's.
    """
    import onnx

    model = onnx.load(file, load_external_data=False)
    graph = onnx.shape_inference.infer_shapes(model).graph
    made_by = {output: node.name for node in graph.node for output in node.output if output}
    weights = {each.name: _weight(each.dims) for each in graph.initializer}
    given = {each.name for each in graph.input} - set(weights)
    known = {each.name: each.type.tensor_type for each in (*graph.value_info, *graph.output)}
    paths = [_in_wrapper(node.name) if traced else _onnx_module(node) for node in graph.node]
    return [
        Node(
            name=node.name,
            operator=node.op_type,
            module=path,
            type=_onnx_type(known.get(node.output[0])),
            shape=_onnx_shape(known.get(node.output[0])),
            attributes=", ".join([*_onnx_attributes(node), *(weights[name] for name in node.input if name in weights)]),
            inputs=tuple(made_by.get(name, name) for name in node.input if name in made_by or name in given),
        )
        for node, path in zip(graph.node, paths, strict=True)
    ]


def _onnx_module(node: Any) -> str:
    """Return the module that an operation belongs to, as its exporter noted it; else its own name."""
    for noted in node.metadata_props:
        if noted.key == SCOPES:
            *modules, _ = ast.literal_eval(noted.value) or [""]
            return str(modules[-1]) if modules else ""
    return _path_in_name(node.name) if "/" in node.name.strip("/") else str(node.name)


def _in_wrapper(name: str) -> str:
    """Return the module in the name of an operation of a flattened module's trace."""
    return f"{_path_in_name(name)}.".removeprefix(FLATTENED).rstrip(".")


def _path_in_name(name: str) -> str:
    """Return the module in the name that an exporter gave an operation: `layer1.0` of `/layer1/layer1.0/conv1/Conv`.

    Some exporters repeat the whole path at every step.
    """
    path = ""
    for step in name.strip("/").split("/")[:-1]:
        path = step if not path or step.startswith(f"{path}.") else f"{path}.{step}"
    return path


def _onnx_type(tensor: Any) -> str:
    import onnx

    return onnx.TensorProto.DataType.Name(tensor.elem_type).lower() if tensor is not None and tensor.elem_type else ""


def _onnx_shape(tensor: Any) -> tuple[int | str, ...]:
    sizes = tensor.shape.dim if tensor is not None else ()
    return tuple(size.dim_value if size.HasField("dim_value") else size.dim_param for size in sizes)


def _onnx_attributes(node: Any) -> Iterator[str]:
    import onnx

    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        is_list = hasattr(value, "__len__") and not isinstance(value, bytes)
        yield _short(f"{attribute.name}={list(value) if is_list else value}")


def _weight(shape: Iterable[int | str]) -> str:
    """Return a weight as an attribute: its shape, `64x3x7x7`."""
    return "x".join(map(str, shape)) or "scalar"


def _layout(value: Any) -> str:
    """Return how a weight lies in memory, empty where it lies in the order of its axes."""
    import torch

    if not isinstance(value, torch.Tensor) or value.layout != torch.strided or value.is_contiguous():
        return ""
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    if value.ndim in formats and value.is_contiguous(memory_format=formats[value.ndim]):
        return f" {formats[value.ndim]}".replace("torch.", "")
    return f" strides {tuple(value.stride())}"


def _short(attribute: str) -> str:
    return attribute if len(attribute) <= LONGEST_ATTRIBUTE else f"{attribute[:LONGEST_ATTRIBUTE]}..."
