"""Lead kernels back to modules of the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.profile import Group, Kernel

MAIN = ("conv", "linear", "gemm", "matmul", "mm", "addmm", "bmm", "baddbmm", "einsum", "scaled_dot", "attention")
"""Names of the operators that take nearly all the time of a kernel in which others are fused to them."""


class Place(NamedTuple):
    """What a kernel's time counts for. `module` is empty for the network itself, and in the other groups."""

    group: Group
    module: str = ""


LAYOUT = Place("layout")
UNATTRIBUTED = Place("unattributed")


def place(kernel: Kernel, nodes: Mapping[str, Node]) -> Place:
    """Return the lowest module that has everything that went into a kernel."""
    if kernel.layout:
        return LAYOUT
    paths = paths_of(kernel, nodes)
    return Place("module", lowest(paths)) if paths else UNATTRIBUTED


def place_of_main(kernel: Kernel, nodes: Mapping[str, Node]) -> Place:
    """Return the module of a kernel's only convolution or product, to which the rest is fused; else as `place` does.

    Only for two cases that fuse alike: else a kernel that does more than its counterpart would look slow.
    """
    main = main_of(kernel, nodes)
    return Place("module", main[0].module) if len(main) == 1 and not kernel.layout else place(kernel, nodes)


def main_of(kernel: Kernel, nodes: Mapping[str, Node]) -> list[Node]:
    """Return the convolutions and products that went into a kernel."""
    own = [nodes[name] for name in kernel.nodes if name in nodes]
    return [node for node in own if node.operator.lower().startswith(MAIN)]


def paths_of(kernel: Kernel, nodes: Mapping[str, Node]) -> list[str]:
    """Return the paths of the modules that a kernel works for. `nodes` are the program's, by name."""
    return [*kernel.modules, *(nodes[name].module for name in kernel.nodes if name in nodes)]


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
