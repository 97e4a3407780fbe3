"""Read the arguments of a mark: one value or several, texts, numbers, sizes and shapes, or an error in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pytest_ngraph.case import BATCH, Scalar, Shape
from pytest_ngraph.errors import UsageError
from pytest_ngraph.plugin.options import parse_compiler
from pytest_ngraph.sizes import parse_size_name, parse_whole


def listed(value: Any) -> list[Any]:
    """Return one value or several as a list.

    Raises `UsageError` for one-shot iterators, because several tests may share a mark.
    """
    if isinstance(value, Iterator):
        raise UsageError(
            f"mark ngraph: {type(value).__name__} can be read only once, and several tests may share a "
            "mark. Give a list: list(...)."
        )
    return [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)


def each(given: Mapping[str, Any], name: str, parse: Callable[[Any], Any]) -> tuple[Any, ...] | None:
    """Return the parsed values of one argument, in order and once each; None where the mark is silent."""
    if name not in given:
        return None
    values = tuple(dict.fromkeys(parse(value) for value in listed(given[name])))
    if not values:
        raise UsageError(f"mark ngraph: {name} is empty. Give one value or several.")
    return values


def texts(given: Mapping[str, Any], name: str, allowed: Iterable[str]) -> tuple[str, ...] | None:
    """Return the values of one argument, each of which must be allowed; None where the mark is silent."""

    def parse(value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise UsageError.unknown(name, value, allowed)
        return value

    return each(given, name, parse)


def text(name: str, value: Any, example: str = "resnet18") -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"mark ngraph: {name} {value!r} is not a text such as {example!r}.")
    return value


def compiler(value: Any) -> str:
    """Return the canonical text of a compiler."""
    return parse_compiler(text("compiler", value))


def model_args(value: Any) -> tuple[tuple[str, Scalar], ...]:
    """Return the arguments of the model, sorted by name."""
    if not isinstance(value, Mapping) or not all(
        isinstance(k, str) and isinstance(v, Scalar) for k, v in value.items()
    ):
        raise UsageError(
            f"mark ngraph: model_args {value!r} is not a dict of texts, numbers and booleans, such as "
            "{'pretrained': True}."
        )
    return tuple(sorted(value.items()))


def shapes(value: Any) -> tuple[tuple[str, Shape], ...]:
    """Return the shapes of a mark. Raises `UsageError` for what is no shape."""
    example = "{'x': ('batch', 3, 'height', 320)}"
    if not isinstance(value, Mapping):
        raise UsageError(f"mark ngraph: shapes {value!r} is not a dict of inputs and their shapes, such as {example}.")
    found = {}
    for name, shape in value.items():
        axes = [shape] if isinstance(shape, str) or not isinstance(shape, Iterable) else list(shape)
        if not isinstance(name, str) or not all(isinstance(axis, str) or type(axis) is int for axis in axes):
            raise UsageError(
                f"mark ngraph: shapes[{name!r}]={shape!r} is not a tuple of whole numbers, 'batch' and names of sizes, "
                f"such as {example}."
            )
        if wrong := [axis for axis in axes if not isinstance(axis, str) and axis < 0]:
            raise UsageError(f"mark ngraph: shapes[{name!r}] has the axis {wrong[0]}. Give a whole number from 0 up.")
        for axis in axes:
            if isinstance(axis, str) and axis not in (BATCH, "depth", "width"):
                parse_size_name(axis)
        found[name] = tuple(axes)
    return tuple(sorted(found.items()))


def marked_sizes(given: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the values of each axis of the user's own that the mark gives."""
    sizes = given.get("sizes", {})
    if not isinstance(sizes, Mapping):
        raise UsageError(
            f"mark ngraph: sizes {sizes!r} is not a dict of axes and their sizes, such as {{'seq_len': [32, 128]}}."
        )
    found = {}
    for name, values in sizes.items():
        own = each({parse_size_name(name): values}, name, partial(parse_whole, f"size {name}"))
        found[name] = own or ()
    return found
