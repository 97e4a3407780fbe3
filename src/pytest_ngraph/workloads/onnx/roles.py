"""What the integers and booleans that an ONNX graph takes mean, as far as the graph and their names say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pytest_ngraph.workloads.drawing import Fixed, Ids, Mask, Positions, Role, Values
from pytest_ngraph.workloads.onnx.lengths import lengths
from pytest_ngraph.workloads.onnx.nodes import Uses, fed

INDEXED = {"Gather": (0, 1), "GatherBlockQuantized": (0, 1)}
"""Places of the table and of the indices among the inputs of an operator, if it indexes the table's first axis."""
EMBEDDED = {0: 2, 1: 4}
"""The same of ONNX Runtime's EmbedLayerNormalization: place of the table by that of the ids."""
COUNTS = {"TopK": 1, "Tile": 1, "Loop": 0, "OneHot": 1, "Range": 1, "Expand": 1}
"""Place of the input that says how many, by operator: of 0, nothing would be computed."""
STORED_AS = ("Cast", "Identity", "DequantizeLinear")
"""Operators through which a table may go first."""


def roles(model: Any, before: Iterable[Any] = (), batched: Mapping[str, int] | None = None) -> dict[str, Role]:
    """Return the role of each integer and Boolean input, by name; `Values` where nothing is known.

    Args:
        model: the graph.
        before: as in `lengths`.
        batched: as in `lengths`.
    """
    import onnx

    kinds = onnx.TensorProto
    counted = (kinds.INT8, kinds.INT16, kinds.INT32, kinds.INT64, kinds.UINT8, kinds.UINT16, kinds.UINT32, kinds.UINT64)
    uses, known = Uses.of(model), lengths(model, before, batched)
    tables = _tables(uses)
    found: dict[str, Role] = {}
    for value in fed(model):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.elem_type in (*counted, kinds.BOOL):
            length = known.get(value.name) if tensor.elem_type != kinds.BOOL else None
            found[value.name] = _role(value.name, uses, tables, length, is_scalar=not len(tensor.shape.dim))
    return found


def _role(name: str, uses: Uses, tables: Mapping[str, Any], length: Role | None, *, is_scalar: bool) -> Role:
    readers = list(uses.after(name))
    indexed = sorted(_indexed(readers, tables))
    if "position" in name.lower():
        return Positions(indexed[0][0] if indexed else None, "by its name")
    if indexed:
        below, table = indexed[0]
        return Ids(below, f"index {table}")
    if "mask" in name.lower():
        return Mask("by its name")
    if length:
        return length
    if why := next(filter(None, (_masks(node, place, tables) for node, place in readers)), ""):
        return Mask(why)
    compared = list(_compared(readers, tables))
    if is_scalar and compared:
        return Fixed(int(compared[0].flat[0]), "the graph compares it with that")
    if counts := next((node.op_type for node, place in readers if COUNTS.get(node.op_type) == place), ""):
        return Fixed(1, f"how many, read by {counts}")
    for constant in compared:
        if constant.size > 2 and (constant.ravel() == range(constant.size)).all():
            return Ids(int(constant.size), f"compared with 0 to {constant.size - 1}")
    return Values()


def _indexed(readers: list[tuple[Any, int]], tables: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Yield the size and the name of each table that the value indexes."""
    for node, place in readers:
        if node.op_type == "EmbedLayerNormalization":
            table = EMBEDDED.get(place)
        else:
            of_table, of_indices = INDEXED.get(node.op_type, (None, None))
            along = next((each.i for each in node.attribute if each.name in ("axis", "gather_axis")), 0)
            table = of_table if place == of_indices and along == 0 else None
        if table is not None and node.input[table] in tables:
            tensor = tables[node.input[table]]
            if tensor.dims:
                yield int(tensor.dims[0]), tensor.name or node.input[table]


def _masks(node: Any, place: int, tables: Mapping[str, Any]) -> str:
    """Return why a value that the node reads is a mask; empty where it does not say so."""
    if node.op_type == "Where" and place == 0:
        return "chooses in Where"
    if node.op_type in ("Not", "And", "Or"):
        return f"read by {node.op_type}"
    if node.op_type == "Sub" and place == 1 and _is_one(tables.get(node.input[0])):
        return "subtracted from 1"
    return ""


def _is_one(tensor: Any) -> bool:
    return tensor is not None and not any(dim > 1 for dim in tensor.dims) and bool((_array(tensor) == 1).all())


def _compared(readers: list[tuple[Any, int]], tables: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the constants with which the value is compared."""
    for node, place in readers:
        if node.op_type == "Equal" and (tensor := tables.get(node.input[1 - place])) is not None:
            yield _array(tensor)


def _array(tensor: Any) -> Any:
    import onnx

    return onnx.numpy_helper.to_array(tensor)


def _tables(uses: Uses) -> dict[str, Any]:
    """Return the tensors that the file holds by every name that they go by."""
    tables = dict(uses.stored)
    for name, tensor in uses.stored.items():
        for node, place in uses.after(name, STORED_AS):
            if node.op_type in STORED_AS and place == 0:
                tables[node.output[0]] = tensor
    return tables
