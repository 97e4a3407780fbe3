"""Kernels that only one of two cases has, because of operations that only this case has.

What is put between a convolution and its normalization is often fused to the normalization, which the convolution then
lacks: a kernel of several modules, which the other case does not have. Its time is due to what was put there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.graphs import GraphDifference
from pytest_ngraph.explain.places import lowest, main_of
from pytest_ngraph.explain.profile import Kernel, Profile


def split_off(profiles: Sequence[Profile], graph: GraphDifference) -> list[dict[str, str]]:
    """Return the modules that such kernels of each case count for, by the kernel's name.

    Args:
        profiles: of two cases by one compiler, which fuses alike.
        graph: what differs between their programs.
    """
    base, head = profiles
    in_base = {name: other for other, name in graph.matched.items()}
    return [
        _of_one(base, graph.removed, graph.matched, _apart(head)),
        _of_one(head, graph.added, in_base, _apart(base)),
    ]


def _of_one(
    profile: Profile, only_here: Sequence[Node], in_other: Mapping[str, str], apart_there: set[str]
) -> dict[str, str]:
    """Return the modules of such kernels of one case.

    Args:
        only_here: operations that the other case lacks.
        in_other: names there of those that it has.
        apart_there: names of those there that are computed without a convolution or product.
    """
    nodes, new = {node.name: node for node in profile.nodes}, {node.name: node.module for node in only_here}
    found = {}
    for kernel in profile.kernels:
        modules = [new[name] for name in kernel.nodes if name in new]
        others = {in_other.get(name) for name in kernel.nodes}
        if modules and _is_apart(kernel, nodes) and others.isdisjoint(apart_there):
            found[kernel.name] = lowest(modules)
    return found


def _apart(profile: Profile) -> set[str]:
    """Return the names of the operations that are computed without a convolution or product."""
    nodes = {node.name: node for node in profile.nodes}
    return {name for kernel in profile.kernels if _is_apart(kernel, nodes) for name in kernel.nodes}


def _is_apart(kernel: Kernel, nodes: Mapping[str, Node]) -> bool:
    return not kernel.layout and not main_of(kernel, nodes)
