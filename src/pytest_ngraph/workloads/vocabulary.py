"""Why looking up token ids failed: which input holds an id that its table does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.workloads import Built


class _Lookup(NamedTuple):
    ids: torch.Tensor
    table: torch.Tensor


def unknown_id(built: Built) -> str:
    """Return the input, its id and the table without a row for it, and the next step; empty where none is missing.

    Runs the module again and looks at each embedding that it computes, in modules and functions alike.
    """
    for ids, table in _lookups(built):
        rows = len(table)
        wrong = ids[(ids < 0) | (ids >= rows)]
        if wrong.numel():
            names = {id(parameter): name for name, parameter in built.module.named_parameters()}
            name = names.get(id(table), "weight")
            found = int(wrong.min() if wrong.min() < 0 else wrong.max())
            return (
                f"{_source(built, found)} holds {found}, but the table that it indexes, {name}, has {rows} rows. "
                f"Give it ids from 0 to {rows - 1}, or give the table more rows"
            )
    return ""


def _source(built: Built, found: int) -> str:
    """Return the input with this value, or else only that there is an index."""
    inputs = zip(built.input_names, built.inputs, strict=True)
    holders = (name for name, x in inputs if not x.is_floating_point() and bool((x == found).any()))
    return next((f"input {name}" for name in holders), "an index")


def _lookups(built: Built) -> Iterator[_Lookup]:
    """Yield the embeddings that the module computes until it fails."""
    import torch
    from torch.overrides import TorchFunctionMode

    seen: list[_Lookup] = []

    class Recorder(TorchFunctionMode):
        def __torch_function__(
            self, function: Callable[..., Any], types: object, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            if function is torch.nn.functional.embedding:
                given = dict(zip(("input", "weight"), args, strict=False)) | (kwargs or {})
                seen.append(_Lookup(given["input"], given["weight"]))
            return function(*args, **kwargs or {})

    try:
        with torch.no_grad(), Recorder():
            built.module(*built.args, **built.kwargs)
    except Exception:  # it has failed before
        yield from seen
