"""Which nodes of an ONNX graph read a value, nested graphs included, and what these say about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

PASSING = (
    "Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Slice", "Gather", "Clip",
)  # fmt: skip
"""Operators after which a number of the input still means the same."""
SHAPE_BYTES = 1024
"""Larger than any tensor that holds a shape."""


def fed(model: Any) -> list[Any]:
    """Return the inputs that a caller gives. Old files list the weights among the inputs too."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def nodes_of(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph and of the graphs nested in it."""
    for node in graph.node:
        yield from nodes_in(node)


def nodes_in(node: Any) -> Iterator[Any]:
    """Yield a node and those of the graphs nested in it."""
    yield node
    for attribute in node.attribute:
        for nested in (attribute.g, *attribute.graphs):
            yield from nodes_of(nested)


def stored_tensors(graph: Any) -> dict[str, Any]:
    """Return the tensors that the file holds, by name: initializers and constants, of nested graphs too."""
    found = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.name == "value":
                found[node.output[0]] = attribute.t
            for nested in (attribute.g, *attribute.graphs):
                found |= stored_tensors(nested)
    return found


def inlined(model: Any) -> Any:
    """Return the graph with the nodes of local functions in place of their calls. Large weights then lack values."""
    if not model.functions:
        return model.graph
    import onnx.inliner

    with without_values(model.graph.initializer):
        return onnx.inliner.inline_local_functions(model).graph


@contextmanager
def without_values(tensors: Iterable[Any]) -> Iterator[None]:
    """Remove the values of the large ones of these weights from the model while the block runs.

    onnx takes models of at most 2 GiB, and no shape depends on these weights.
    """
    large = [(tensor, tensor.raw_data) for tensor in tensors if len(tensor.raw_data) > SHAPE_BYTES]
    for tensor, _ in large:
        tensor.ClearField("raw_data")
    try:
        yield
    finally:
        for tensor, values in large:
            tensor.raw_data = values


@dataclass(frozen=True, slots=True)
class Uses:
    """The nodes that read each value, those in local functions too.

    Attributes:
        readers: node and place among its inputs, by the value's name.
        stored: the tensors that the file holds, by name.
    """

    readers: Mapping[str, list[tuple[Any, int]]]
    stored: Mapping[str, Any]

    @classmethod
    def of(cls, model: Any) -> Uses:
        readers: dict[str, list[tuple[Any, int]]] = defaultdict(list)
        graph = inlined(model)
        for node in nodes_of(graph):
            for place, name in enumerate(node.input):
                readers[name].append((node, place))
        return cls(dict(readers), stored_tensors(graph) | stored_tensors(model.graph))

    def after(self, name: str, passing: tuple[str, ...] = PASSING) -> Iterator[tuple[Any, int]]:
        """Yield the nodes that read a value, directly or after operators that pass it on, and the place of it there."""
        waiting, seen = [name], set()
        while waiting:
            current = waiting.pop()
            for node, place in self.readers.get(current, ()):
                yield node, place
                if node.op_type in passing and place == 0 and node.output[0] not in seen:
                    seen.add(node.output[0])
                    waiting.append(node.output[0])

    def size_of(self, name: str, axis: int, rank: int) -> int | None:
        """Return the size of one of a value's axes that the weights of a node demand; None where none does.

        Args:
            rank: number of the value's axes.
        """
        for node, place in self.after(name, passing=("Cast", "Identity")):
            if place == 0 and (size := _demanded(node, axis, rank, self.stored)):
                return size
        return None


def _demanded(node: Any, axis: int, rank: int, stored: Mapping[str, Any]) -> int | None:
    """Return what a node's weights demand of an axis of its first input."""
    weights = stored.get(node.input[1]) if len(node.input) > 1 else None
    if weights is None:
        return None
    numbers = {each.name: each.i for each in node.attribute}
    shape = [*weights.dims] or [0]
    demanded: dict[str, tuple[int, int]] = {
        "Conv": (1, shape[1 % len(shape)] * numbers.get("group", 1)),
        "ConvTranspose": (1, shape[0]),
        "BatchNormalization": (1, shape[0]),
        "InstanceNormalization": (1, shape[0]),
        "LayerNormalization": (rank - 1, shape[-1]),
        "LSTM": (2, shape[-1]),
        "GRU": (2, shape[-1]),
        "RNN": (2, shape[-1]),
        "MatMul": (rank - 1, shape[-2 if len(shape) > 1 else 0]),
        "Gemm": (0 if numbers.get("transA") else 1, shape[-1 if numbers.get("transB") else 0]),
    }
    place, size = demanded.get(node.op_type, (-1, 0))
    return int(size) if place == axis and size else None
