"""Which outputs of an ONNX graph have a number of rows that values decide, as a detector's boxes have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_ngraph.workloads.onnx.nodes import inlined, nodes_in

if TYPE_CHECKING:
    from pytest_ngraph.artifact import Array

DECIDING = ("NonMaxSuppression", "NonZero", "Unique", "Compress")
"""Operators whose outputs are as large as the values of their inputs say."""


def data_dependent(model: Any, reference: Sequence[Array], names: Sequence[str], batch_size: int) -> tuple[str, ...]:
    """Return the names of these outputs: their first axis has no known size, and an operator before them decides one.

    Outputs with as many rows as there are samples are none: their order is known.

    Args:
        model: the graph, with the shapes of its outputs as far as they can be inferred.
        reference: the outputs, which are all tensors.
        names: what each is called.
    """
    makers = {name: node for node in inlined(model).node for name in node.output}
    return tuple(
        name
        for value, array, name in zip(model.graph.output, reference, names, strict=True)
        if array.shape[:1] not in ((), (batch_size,)) and _is_open(value) and _is_decided(value.name, makers)
    )


def _is_open(value: Any) -> bool:
    """Return whether no size is known of the first axis."""
    axes = value.type.tensor_type.shape.dim
    return not axes or axes[0].dim_value < 1


def _is_decided(name: str, makers: dict[str, Any]) -> bool:
    """Return whether what makes a value has an operator that decides a size."""
    waiting, seen = [name], set()
    while waiting:
        current = waiting.pop()
        if current in seen or current not in makers:
            continue
        seen.add(current)
        for node in nodes_in(makers[current]):
            if node.op_type in DECIDING:
                return True
            waiting += node.input
    return False
