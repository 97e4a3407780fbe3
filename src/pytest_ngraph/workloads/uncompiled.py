"""Modules without `torch.compile`, which their authors have called on them or on parts of them.

Every compiler is compared with eager PyTorch, which must run nothing that is compiled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from itertools import chain
from types import MethodType
from typing import TYPE_CHECKING, Any

from pytest_ngraph.workloads.copies import copied

if TYPE_CHECKING:
    import torch

IN_PLACE = "_compiled_call_impl"
"""What a module is called by instead of its `forward`, once its `compile` was called."""
WRAPPED = "_orig_mod"
"""Where the module that `torch.compile` returns has the one that it was given."""
WRAPPED_FUNCTION = "_torchdynamo_orig_callable"
"""Where a function that `torch.compile` returns has the one that it was given."""


def uncompiled(module: torch.nn.Module) -> torch.nn.Module:
    """Return a module of which no part is compiled by `torch.compile`; the module itself where that is so.

    Else it is a copy with the same parameters and buffers, because the user may keep the original. One that cannot be
    copied is changed itself. Functions that a module calls, and methods other than `forward`, stay compiled.
    """
    module = getattr(module, WRAPPED, module)
    changed: list[tuple[dict[str, Any], str, Any]] = []
    for part in module.modules():
        for attributes, name, before in _compiled(part):
            changed.append((attributes, name, attributes.get(name)))
            _put(attributes, name, before)
    if not changed:
        return module
    try:
        made = copied(module, {id(tensor): tensor for tensor in chain(module.parameters(), module.buffers())})
    except Exception:  # a user's module may hold anything
        return module
    for each in changed:
        _put(*each)
    return made


def _compiled(part: torch.nn.Module) -> list[tuple[dict[str, Any], str, Any]]:
    """Return what is compiled of a part.

    Returns:
        For each: the dict that it is in, its name there, and what belongs there; None for nothing.
    """
    own = vars(part)
    found: list[tuple[dict[str, Any], str, Any]] = [
        (part._modules, name, child._modules[WRAPPED])
        for name, child in part._modules.items()
        if child is not None and WRAPPED in child._modules
    ]
    if own.get(IN_PLACE) is not None:
        found.append((own, IN_PLACE, None))
    of_class = getattr(type(part), "forward", None)  # a ScriptModule has none
    by_decorator, by_hand = _given(of_class), _given(own.get("forward"))
    if by_decorator is not None:
        found.append((own, "forward", MethodType(by_decorator, part)))
    elif by_hand is not None and _function(by_hand) is _function(of_class):
        found.append((own, "forward", None))
    return found


def _given(function: Any) -> Callable[..., Any] | None:
    """Return the function that `torch.compile` was given, where this is what it has returned; else None."""
    given: Callable[..., Any] | None = getattr(function, WRAPPED_FUNCTION, None)
    return given if getattr(function, "__wrapped__", None) is given else None  # decorators copy attributes


def _function(method: Any) -> Any:
    """Return the function of a method, without its decorators."""
    function = inspect.unwrap(method)
    return getattr(function, "__func__", function)


def _put(attributes: dict[str, Any], name: str, value: Any) -> None:
    """Set an attribute; remove it where the value is None."""
    if value is None:
        attributes.pop(name, None)
    else:
        attributes[name] = value
