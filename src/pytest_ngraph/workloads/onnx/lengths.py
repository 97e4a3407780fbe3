"""Inputs of an ONNX graph that say how long its sequences are: at lengths of 0 or 1, almost nothing is computed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.workloads.drawing import Fixed, Role, Values
from pytest_ngraph.workloads.onnx.nodes import Uses, fed

RECURRENT = ("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
SEQUENCE_LENS = 4
"""Place of the lengths among the inputs of these operators; the sequences are the first."""
NAMED = re.compile(r"(.*?)_?(?:lengths?|lens|(?<![^_])len)", re.IGNORECASE)
"""Names of lengths, and in them the name of what has the length: `x_lens`, `audio_signal_length`, `length`."""
UNKNOWN = Values("a length, of which input is not known")
OTHER_LENGTHS = ("max", "min", "past", "total", "hop", "win", "window", "frame")
"""Words in names of lengths that are not those of the inputs: limits of what is generated, sizes of a window."""


def lengths(model: Any, before: Iterable[Any] = (), batched: Mapping[str, int] | None = None) -> dict[str, Role]:
    """Return the role of each input that holds lengths, by name. Its sequences are of full length, where that is known.

    Args:
        model: the graph. Its inputs have their sizes.
        before: its inputs as the file has them: an axis that is open there, and no batch, is that of a sequence.
        batched: the place of the batch among the axes of each input that has one.
    """
    found: dict[str, Role] = {}
    inputs = _Inputs.of(model, before, batched or {})
    for value in inputs.tensors.values():
        known = inputs.of_operator(value.name) or inputs.by_name(value)
        if known:
            found[value.name] = known
    return found


@dataclass(frozen=True, slots=True)
class _Inputs:
    """The inputs of a graph that are tensors, and what is known of their axes.

    Attributes:
        tensors: the inputs, by name.
        shapes: the shapes of all values, as far as they are known; 0 for an axis that is not.
        opened: places of the axes that the file leaves open, by the input's name.
        batched: as in `lengths`.
    """

    tensors: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]
    opened: Mapping[str, set[int]]
    batched: Mapping[str, int]
    uses: Uses

    @classmethod
    def of(cls, model: Any, before: Iterable[Any], batched: Mapping[str, int]) -> _Inputs:
        tensors = {value.name: value for value in fed(model) if value.type.HasField("tensor_type")}
        shapes = {value.name: _shape(value) for value in (*model.graph.value_info, *tensors.values())}
        opened = {value.name: {i for i, size in enumerate(_shape(value)) if size < 1} for value in before}
        return cls(tensors, shapes, opened, batched, Uses.of(model))

    def of_operator(self, name: str) -> Role | None:
        """Return the role of what a recurrent operator reads as its lengths; None for anything else."""
        for node, place in self.uses.after(name):
            if node.op_type in RECURRENT and place == SEQUENCE_LENS:
                axis = next((each.i for each in node.attribute if each.name == "layout"), 0)
                shape = self.shapes.get(node.input[0], ())
                size = shape[axis] if len(shape) > axis else 0
                why = f"the length of {node.op_type}'s sequences"
                return Fixed(size, why) if size else Values(f"{why}, which is not known")
        return None

    def by_name(self, value: Any) -> Role | None:
        """Return the role of what is called a length; None for anything else."""
        name, shape = value.name, self.shapes[value.name]
        match = NAMED.fullmatch(name)
        if not match or len(shape) > 1 or any(word in OTHER_LENGTHS for word in name.lower().split("_")):
            return None
        others = [other for other in self.tensors if self._has_sequences(other, shape)]
        prefix = match[1].lower()
        named = [other for other in others if prefix and _belongs(prefix, other.lower())]
        for find in (self._open_axis, self._free_axis):
            axes = {other: axis for other in named or others if (axis := find(other)) is not None}
            known = {self.shapes[other][axis]: (other, axis) for other, axis in axes.items()}
            if len(known) == 1:
                ((size, (other, axis)),) = known.items()
                return Fixed(size, f"the length of {other}, its axis {axis}")
            if known:
                return UNKNOWN
        return UNKNOWN

    def _has_sequences(self, name: str, lengths: tuple[int, ...]) -> bool:
        """Return whether lengths of this shape may be those of an input."""
        shape = self.shapes[name]
        return len(shape) > 1 and lengths in ((), (shape[self.batched.get(name, 0)],))

    def _open_axis(self, name: str) -> int | None:
        """Return the only axis besides the batch that the file leaves open."""
        return _only(place for place in self._places(name) if place in self.opened.get(name, ()))

    def _free_axis(self, name: str) -> int | None:
        """Return the only axis besides the batch of which no weights demand a size."""
        rank = len(self.shapes[name])
        return _only(p for p in self._places(name) if not self.uses.size_of(name, p, rank))

    def _places(self, name: str) -> Iterator[int]:
        shape, batch = self.shapes[name], self.batched.get(name, 0)
        yield from (place for place in range(len(shape)) if place != batch and shape[place])


def _belongs(prefix: str, name: str) -> bool:
    return name.startswith(prefix) or prefix.startswith(name)


def _only(places: Iterable[int]) -> int | None:
    found = list(places)
    return found[0] if len(found) == 1 else None


def _axes(value: Any) -> Any:
    return value.type.tensor_type.shape.dim


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(axis.dim_value for axis in _axes(value))
