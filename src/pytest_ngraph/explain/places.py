"""Lead kernels back to modules of the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_ngraph.profile import Group, Kernel


class Place(NamedTuple):
    """What a kernel's time counts for. `module` is empty for the network itself, and in the other groups."""

    group: Group
    module: str = ""


LAYOUT = Place("layout")
UNATTRIBUTED = Place("unattributed")


def place(kernel: Kernel, modules: Mapping[str, str]) -> Place:
    """Return the lowest module that has everything that went into a kernel.

    Args:
        modules: path of the module of each node, by the node's name.
    """
    if kernel.layout:
        return LAYOUT
    paths = paths_of(kernel, modules)
    return Place("module", lowest(paths)) if paths else UNATTRIBUTED


def paths_of(kernel: Kernel, modules: Mapping[str, str]) -> list[str]:
    """Return the paths of the modules that a kernel works for. `modules` are as in `place`."""
    return [*kernel.modules, *(modules[node] for node in kernel.nodes if node in modules)]


def lowest(paths: Iterable[str]) -> str:
    """Return the lowest module that contains all of these, by path: `layer1.0` for `layer1.0.conv1`, `layer1.0.bn1`."""
    first, *others = (parts(path) for path in paths)
    common = len(first)
    for other in others:
        same = 0
        while same < min(common, len(other)) and first[same] == other[same]:
            same += 1
        common = same
    return ".".join(first[:common])


def parts(path: str) -> list[str]:
    """Return the names along a path; none for the network itself."""
    return path.split(".") if path else []


def is_within(path: str, module: str) -> bool:
    """Return whether a path is that of a module or of something in it."""
    return not module or path == module or path.startswith(f"{module}.")
