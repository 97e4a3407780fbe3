"""Kinds of devices, one file each: where the system lists them, and how PyTorch and OpenVINO use them.

In: the name of a kind, which is that of its file. Out: a `DeviceKind`. Open `kind.py` first, then `cuda.py`. A new kind
is a new file here that defines `KIND`; a compiler takes part by naming it in its `kinds`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from pytest_ngraph.artifact import Target
from pytest_ngraph.compilers.kinds.kind import DeviceKind

__all__ = ["DeviceKind", "device", "named", "names"]


@cache
def names() -> tuple[str, ...]:
    """Return the names of all kinds, sorted."""
    return tuple(sorted({module.name for module in iter_modules(__path__)} - {"kind"}))


@cache
def named(name: str) -> DeviceKind:
    """Return the kind of this name, one of `names()`. No framework is imported."""
    kind: DeviceKind = import_module(f"{__name__}.{name}").KIND
    return kind


def device(target: Target) -> str:
    """Return PyTorch's name of the target's device. Raise `Unsupported` where PyTorch has none."""
    return named(target.kind).device(target.index)
