"""Nested values, as modules take and return them: the tensors in them, the path of each, and other tensors in place.

Every type that PyTorch's pytrees know is opened (tuples, lists, dicts, what a library registered, such as the outputs
of Hugging Face's models), and so are dataclasses and mappings that nobody registered. Anything else is a leaf.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import torch

Value = TypeVar("Value")
Parts = list[tuple[str, Any]]
PLAIN = (str, bytes, int, float, complex, type(None))
"""Types of values that hold no tensor."""


class Leaf(NamedTuple):
    """A tensor in a nested value.

    Attributes:
        path: where it is, as Python would reach it: `output['boxes'][0]`.
        tensor: the tensor.
    """

    path: str
    tensor: torch.Tensor


def leaves(value: object, path: str = "") -> Iterator[Leaf]:
    """Yield the tensors in a nested value, in its order. `path` is the name of the value itself."""
    import torch

    if isinstance(value, torch.Tensor):
        yield Leaf(path, value)
        return
    for key, part in parts(value):
        yield from leaves(part, path + key)


def parts(value: object) -> Parts:
    """Return what a nested value consists of, each part with its key; nothing where it is a leaf."""
    return _open(value)[0]


def tensors_in(value: object) -> list[torch.Tensor]:
    """Return the tensors in a nested value, in its order."""
    return [leaf.tensor for leaf in leaves(value)]


def held(value: object, path: str = "", *, inside: bool = False) -> Iterator[Leaf]:
    """Yield the tensors that objects in a nested value hold, such as a cache. `leaves` opens no such object.

    Args:
        value: any value. Modules and functions in it are not opened.
        path: the name of the value itself.
        inside: whether an object holds the value itself, so that the tensors in it count, too.
    """
    import torch

    seen: dict[int, object] = {}  # the objects themselves are kept: that of another would have the same identity
    waiting = [(path, value, inside)]
    while waiting:
        path, value, inside = waiting.pop()
        if isinstance(value, torch.Tensor):
            if inside:
                yield Leaf(path, value)
            continue
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen[id(value)] = value
        own = parts(value)
        if not own and hasattr(value, "__dict__") and not _is_closed(value):
            own, inside = [(f".{name}", part) for name, part in vars(value).items()], True
        waiting += ((path + key, part, inside) for key, part in reversed(own))


def _is_closed(value: object) -> bool:
    """Return whether tensors of an object are no values that a call works on: a module's, or a graph's of PyTorch."""
    return callable(value) or isinstance(value, ModuleType) or type(value).__module__.startswith("torch.fx.")


def with_tensors(value: Value, tensors: Iterable[torch.Tensor]) -> Value:
    """Return a copy of a nested value with these tensors, in its order, in place of its own."""
    filled: Value = _filled(value, iter(tensors))
    return filled


def _filled(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return next(tensors)
    own, rebuild = _open(value)
    return rebuild([_filled(part, tensors) for _, part in own]) if own else value


def _open(value: Any) -> tuple[Parts, Callable[[list[Any]], Any]]:
    """Return the parts of a value with their keys, and a function that makes a value of other parts; none of a leaf."""
    from torch.utils import _pytree

    known, form = _pytree.tree_flatten(value, is_leaf=lambda each: each is not value)
    if not form.is_leaf():
        keys = _keys(value, len(known))
        return list(zip(keys, known, strict=True)), lambda others: _pytree.tree_unflatten(others, form)
    if isinstance(value, MutableMapping):
        return [(f"[{key!r}]", part) for key, part in value.items()], lambda others: _with_items(value, others)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if hasattr(value, each.name)]
        return [(f".{name}", getattr(value, name)) for name in names], lambda others: _with_fields(value, names, others)
    return [], lambda _: value


def _keys(value: Any, count: int) -> list[str]:
    """Return how each part of a value that pytrees know is reached; a number where nothing better is known."""
    if isinstance(value, Mapping):
        keys = [f"[{key!r}]" for key in value]
    else:
        fields = [each.name for each in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        names = getattr(value, "_fields", [name for name in fields if getattr(value, name) is not None])
        keys = [f".{name}" for name in names]
    return keys if len(keys) == count else [f"[{index}]" for index in range(count)]


def _with_items(value: MutableMapping[Any, Any], others: list[Any]) -> MutableMapping[Any, Any]:
    other = copy.copy(value)
    for key, part in zip(value, others, strict=True):
        other[key] = part
    return other


def _with_fields(value: object, names: list[str], others: list[Any]) -> object:
    other = copy.copy(value)
    for name, part in zip(names, others, strict=True):
        object.__setattr__(other, name, part)  # also where the dataclass is frozen
    return other
