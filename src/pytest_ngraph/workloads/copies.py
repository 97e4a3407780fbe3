"""Copies of modules that users may keep: whoever changes a module changes a copy."""

from __future__ import annotations

import copy
import copyreg
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_ngraph.workloads import structure
from pytest_ngraph.workloads.tensors import is_in

if TYPE_CHECKING:
    import torch

    from pytest_ngraph.case import Precision

LOCKS = (type(threading.Lock()), type(threading.RLock()))
"""The types of locks, which `copy.deepcopy` refuses. A copy shares them with the original."""


def own(module: torch.nn.Module, precision: Precision | None) -> torch.nn.Module:
    """Return a copy of a module that is to be changed, the module itself where nothing is.

    The user may keep the original and return it again. The copy shares the parameters that stay as they are. A module
    that cannot be copied is returned itself, and so is one with functions that may refer to its parts: they would go on
    to refer to the original's.

    Args:
        precision: what it is cast to when it is put into evaluation mode; None if it stays as it is. Even then what was
            made in inference mode becomes ordinary: PyTorch exports no other tensors.
    """
    import torch

    def stays(tensor: torch.Tensor) -> bool:
        if torch.nn.parameter.is_lazy(tensor):
            return precision is None
        return not tensor.is_inference() and (precision is None or is_in(tensor, precision))

    tensors = [*module.parameters(), *module.buffers()]
    changes_mode = precision is not None and any(getattr(part, "training", False) for part in module.modules())
    if (not changes_mode and all(map(stays, tensors))) or _has_closures(module):
        return module
    shared = {id(each): each for each in module.parameters() if not torch.nn.parameter.is_lazy(each) and stays(each)}
    try:
        return copied(module, shared)
    except Exception:  # a user's module may hold anything
        return module


def copied(module: torch.nn.Module, instead: Mapping[int, Any] | None = None) -> torch.nn.Module:
    """Return a copy of a module. It raises what `copy.deepcopy` raises for what the module holds: an open file, say.

    Tensors that the module has computed from its parameters, as `torch.nn.utils.weight_norm` keeps them, are copied
    without the way to compute them. The module computes them again in each call.

    Args:
        instead: what takes the place of the module's own objects, by their identity. They are not copied.
    """
    computed = {id(tensor): tensor.detach().clone() for tensor in _computed(module)}
    with _locks_shared():
        made: torch.nn.Module = copy.deepcopy(module, {**computed, **(instead or {})})
    return made


def is_same(first: torch.nn.Module, second: torch.nn.Module) -> bool:
    """Return whether two modules share a part or a parameter, so that changing one changes the other."""
    mine, others = ({id(each) for each in (*module.modules(), *module.parameters())} for module in (first, second))
    return not mine.isdisjoint(others)


def _has_closures(module: torch.nn.Module) -> bool:
    """Return whether the module or one of its parts has a function as an attribute or a hook that refers to a scope."""
    for part in module.modules():
        hooks = [value.values() for name, value in vars(part).items() if name.endswith("_hooks") and value]
        for each in (*vars(part).values(), *chain.from_iterable(hooks)):
            if getattr(each, "__closure__", None) or isinstance(each, partial):
                return True
    return False


def _computed(module: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Yield the tensors that the attributes of the module and its parts are, or hold, and that are no leaves."""
    for part in module.modules():
        for value in (*vars(part).values(), *part.buffers(recurse=False)):
            yield from (leaf.tensor for leaf in structure.held(value, inside=True) if not leaf.tensor.is_leaf)


@contextmanager
def _locks_shared() -> Iterator[None]:
    """Inside this context, `copy.deepcopy` gives a lock itself for its copy: what belongs together stays together."""
    before = {kind: copyreg.dispatch_table[kind] for kind in LOCKS if kind in copyreg.dispatch_table}
    copyreg.dispatch_table.update(dict.fromkeys(LOCKS, repr))  # a text stands for the object itself
    try:
        yield
    finally:
        for kind in LOCKS:
            del copyreg.dispatch_table[kind]
        copyreg.dispatch_table.update(before)
