"""Join parts of a module that one kernel of a case computes together, so that two cases can be compared there.

Where a compiler fuses a convolution, its normalization and its activation, the three have a row: `conv1, bn1, act1`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_ngraph.explain.places import parts

MOST_ACROSS = 0.3
"""Parts are joined where kernels that span them take more than this share of a case's time in them."""


class Spanning(NamedTuple):
    """Kernels of a case that span the same parts of a module; the parts by their names in it."""

    case: int
    module: str
    parts: tuple[str, ...]


def spanned(module: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of a module that these paths lead to, by their names in it, in order; none for only one."""
    depth = len(parts(module))
    names = tuple(dict.fromkeys(parts(path)[depth] for path in paths if len(parts(path)) > depth))
    return names if len(names) > 1 else ()


class Siblings:
    """Which parts of modules are joined.

    Args:
        spanning: median seconds of the kernels that span several parts of a module.
        within: seconds of each module with all its parts; shape (cases,).
        modules: paths of modules, in the order of the network.
    """

    def __init__(
        self, spanning: Mapping[Spanning, float], within: Mapping[str, Sequence[float]], modules: Iterable[str]
    ) -> None:
        self._joined: dict[tuple[str, str], str] = {}
        groups: dict[str, list[set[str]]] = {}
        for (case, module, names), seconds in spanning.items():
            own = sum(within[path][case] for name in names if (path := _child(module, name)) in within)
            if seconds <= MOST_ACROSS * (own + seconds):
                continue
            of_module = groups.setdefault(module, [])
            touched = [group for group in of_module if group & set(names)]
            of_module[:] = [group for group in of_module if group not in touched] + [set(names).union(*touched)]
        children = _children([*modules, *within])
        for module, of_module in groups.items():
            for group in of_module:
                label = ", ".join(name for name in children[module] if name in group)
                if group != set(children[module]):  # else the module itself has the row
                    self._joined |= {(module, name): label for name in group}

    def path(self, module: str, names: tuple[str, ...] = ()) -> str:
        """Return the path of a row for what is in a module, or for a kernel that spans these parts of it."""
        path: list[str] = []
        for name in parts(module):
            label = self._joined.get((".".join(path), name))
            if label:
                return ".".join([*path, label])
            path.append(name)
        labels = {self._joined.get((module, name)) for name in names}
        label = labels.pop() if len(labels) == 1 else None
        return ".".join([*path, label]) if label else module


def _children(paths: Iterable[str]) -> dict[str, dict[str, None]]:
    """Return the names of the parts of each module, in order."""
    found: dict[str, dict[str, None]] = {}
    for path in paths:
        names = parts(path)
        for depth, name in enumerate(names):
            found.setdefault(".".join(names[:depth]), {})[name] = None
    return found


def _child(module: str, name: str) -> str:
    return f"{module}.{name}" if module else name
