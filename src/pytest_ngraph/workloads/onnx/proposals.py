"""The arguments of a mark that would settle the open axes of an ONNX file, as a message proposes them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_ngraph.case import BATCH
from pytest_ngraph.workloads.onnx.formulas import NAME, names_in, size_of

if TYPE_CHECKING:
    from pytest_ngraph.case import Shape

ARGUMENTS = ("depth", "width")
"""Sizes that are arguments of the mark, and so no keys of its `sizes`."""
EXAMPLE = 128
EXAMPLE_IMAGE = 224
"""Sizes in the line that a message proposes; the second for the last two axes of four."""


class Axis(NamedTuple):
    """An axis of an input.

    Attributes:
        text: its name or formula; empty where it has none.
        size: its size; None where it is open.
    """

    text: str
    size: int | None


Axes = Sequence[Axis]


def line(
    inputs: Mapping[str, Axes],
    known: Mapping[str, int],
    batched: Mapping[str, int],
    argument_of: Callable[[str], str],
) -> str:
    """Return arguments of the mark that would settle the open axes, as a user writes them.

    Args:
        inputs: the axes of each input, by its name.
        known: the size of each name of an axis that is known.
        batched: the place of the batch among the axes of each input that has one.
        argument_of: what a mark calls the size of an axis of this name; empty where no argument can set it.
    """
    inputs = {name: axes for name, axes in inputs.items() if any(axis.size is None for axis in axes)}
    examples = _examples(inputs.values(), known)
    sizes: dict[str, int] = {}
    shapes: dict[str, Shape] = {}
    for name, axes in inputs.items():
        left = {index: names_in(axis.text) for index, axis in enumerate(axes) if axis.size is None}
        asked = {index: [each for each in names if each not in known] for index, names in left.items()}
        if not all(names and all(map(argument_of, names)) for names in asked.values()):
            shapes[name] = _shape(axes, {**known, **examples}, batched.get(name))
            asked = {index: names for index, names in asked.items() if not re.fullmatch(NAME, axes[index].text)}
        arguments = {argument_of(each): examples[each] for names in asked.values() for each in names}
        sizes |= {argument: size for argument, size in arguments.items() if argument}
    parts = [f"{name}={sizes.pop(name)}" for name in ARGUMENTS if name in sizes]
    parts += [f"sizes={_dict({name: str(size) for name, size in sizes.items()})}"] if sizes else []
    tuples = {name: f"({', '.join(map(_literal, s))}{',' * (len(s) == 1)})" for name, s in shapes.items()}
    return ", ".join([*parts, *([f"shapes={_dict(tuples)}"] if tuples else [])])


def argument(name: str) -> str:
    """Return the argument of the mark that gives one size, with an example."""
    return f"{name}={EXAMPLE}" if name in ARGUMENTS else f'sizes={{"{name}": {EXAMPLE}}}'


def _examples(inputs: Iterable[Axes], known: Mapping[str, int]) -> dict[str, int]:
    """Return a size for each name of an open axis that is not known: one for all axes and formulas that have it."""
    plain: dict[str, int] = {}
    in_formulas: dict[str, int] = {}
    for axes in inputs:
        for index, axis in enumerate(axes):
            if axis.size is None:
                found = plain if re.fullmatch(NAME, axis.text) else in_formulas
                for name in names_in(axis.text):
                    found.setdefault(name, _example(index, len(axes)))
    return {name: size for name, size in (in_formulas | plain).items() if name not in known}


def _shape(axes: Axes, sizes: Mapping[str, int], batched: int | None) -> Shape:
    """Return a shape for an input: formulas as they come to with these sizes."""
    shape: list[int | str] = []
    for index, axis in enumerate(axes):
        size = size_of(axis.text, sizes) if axis.size is None else axis.size
        shape.append(_example(index, len(axes)) if size is None else size)
    first_open = next(index for index, axis in enumerate(axes) if axis.size is None)
    if batched is not None:
        shape[batched] = BATCH
    elif len(axes) == 3 and first_open == 1 and not axes[1].text:  # a state: (layers, batch, features)
        shape[1] = BATCH
    return tuple(shape)


def _example(index: int, rank: int) -> int:
    return EXAMPLE_IMAGE if rank == 4 and index > 1 else EXAMPLE


def _dict(texts: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{_literal(name)}: {text}" for name, text in texts.items()) + "}"


def _literal(value: int | str) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
