"""Find the operations of kernels whose names say only in part, or not at all, what went into them.

Libraries rename what they fold and fuse: of a convolution with its normalization and ReLU, `Multiply_5042, relu_3` may
be left. But kernels and operations are two graphs of one computation. An operation that no kernel names belongs to a
kernel that reads what the operation's nearest ancestors computed, and from which those of its descendants can be
reached. Where several fit, it begins a kernel that has no beginning yet, or ends the first, by what fusions look like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.profile import SILENT, Kernel

TRAILING = frozenset(
    (
        *("add", "sub", "mul", "div", "neg", "pow", "exp", "sqrt", "rsqrt", "clamp", "batch_norm", "sigmoid", "tanh"),
        *("relu", "relu6", "gelu", "silu", "elu", "leaky_relu", "hardtanh", "hardswish", "hardsigmoid"),
        *("Add", "Sub", "Mul", "Div", "Neg", "Pow", "Exp", "Sqrt", "Clip", "BatchNormalization", "Sigmoid", "Tanh"),
        *("Relu", "Gelu", "Elu", "LeakyRelu", "HardSwish", "HardSigmoid", "Erf"),
    )
)
"""Operators that kernels end with. All others begin a kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a kernel before matching.

    Attributes:
        nodes: names of the operations that it names.
        inputs: names of the kernels that it reads.
        layout: whether it only changes a layout or a type. What is on both sides of it is next to each other.
        whole: whether no other operations went into it than those that it names.
    """

    nodes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    layout: bool = False
    whole: bool = False


def complete(known: Mapping[str, Known], nodes: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """Return the names of the operations of each kernel.

    Args:
        known: by the kernel's name, in the order in which they run.
        nodes: in the order in which they run.
    """
    return _Matching(known, nodes).complete()


def located(kernels: Sequence[Kernel], known: Mapping[str, Known], nodes: Sequence[Node]) -> list[Kernel]:
    """Return the kernels with their operations.

    A kernel of which none is found is a part of what its neighbours compute: it gets the modules of these. Where none
    of several kernels names an operation, they would all be guesses, so the kernels stay without.
    """
    if not any(each.nodes for each in known.values()) and sum(not each.layout for each in known.values()) > 1:
        return list(kernels)
    found = complete(known, nodes)
    modules = {node.name: node.module for node in nodes}
    readers: dict[str, list[str]] = {name: [] for name in known}
    for name, each in known.items():
        for other in each.inputs:
            readers.setdefault(other, []).append(name)

    def nearest(name: str, towards: Mapping[str, Sequence[str]]) -> set[str]:
        seen, waiting, paths = {name}, list(towards.get(name, ())), set[str]()
        while waiting:
            other = waiting.pop()
            if other in seen:
                continue
            seen.add(other)
            if of_other := [modules[node] for node in found.get(other, ()) if node in modules]:
                paths.update(of_other)
            else:
                waiting += towards.get(other, ())
        return paths

    inputs = {name: each.inputs for name, each in known.items()}

    def placed(kernel: Kernel) -> Kernel:
        if of_kernel := found.get(kernel.name, ()):
            return replace(kernel, nodes=of_kernel)
        if kernel.layout or kernel.name not in known:
            return kernel
        paths = nearest(kernel.name, inputs) | nearest(kernel.name, readers)
        return replace(kernel, modules=tuple(sorted(paths)))

    return [placed(kernel) for kernel in kernels]


def aligned(first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of a longest common subsequence: as many as possible that both have in the same order.

    What lies between two of them may be missing in either.
    """
    import numpy as np

    numbers: dict[str, int] = {}
    one, other = (np.array([numbers.setdefault(text, len(numbers)) for text in texts]) for texts in (first, second))
    # Of the longest one of the texts before a place of each.
    lengths = np.zeros((len(one) + 1, len(other) + 1), dtype=np.int32)
    for row, own in enumerate(one):
        before = lengths[row]
        lengths[row + 1, 1:] = np.maximum.accumulate(np.where(other == own, before[:-1] + 1, before[1:]))
    found = []
    row, column = len(one), len(other)
    while row and column:
        if one[row - 1] == other[column - 1]:
            row, column = row - 1, column - 1
            found.append((row, column))
        elif lengths[row - 1, column] >= lengths[row, column - 1]:
            row -= 1
        else:
            column -= 1
    yield from reversed(found)


def begins_kernel(node: Node) -> bool:
    """Return whether an operation has a kernel of its own, or others follow it in one."""
    return node.operator not in TRAILING and node.operator not in SILENT


class _Matching:
    def __init__(self, known: Mapping[str, Known], nodes: Sequence[Node]) -> None:
        self._known = known
        self._nodes = _that_compute(nodes)
        self._names = [node.name for node in nodes]
        self._of: dict[str, set[str]] = {}
        for kernel, each in known.items():
            for name in each.nodes:
                self._of.setdefault(name, set()).add(kernel)
        self._inputs = {name: self._read(name) for name, each in known.items() if not each.layout}
        self._readers: dict[str, set[str]] = {name: set() for name in self._inputs}
        for name, inputs in self._inputs.items():
            for other in inputs:
                self._readers[other].add(name)
        self._order = {name: index for index, name in enumerate(known)}
        self._bits = {name: 1 << index for name, index in self._order.items()}
        self._reached: dict[str, int] = {}  # as bits: where each kernel reads all before it, sets take seconds
        for name in reversed(list(self._readers)):
            reached = self._bits[name]
            for reader in self._readers[name]:
                reached |= self._bits[reader] | self._reached.get(reader, 0)
            self._reached[name] = reached
        begins = {node.name for node in nodes if begins_kernel(node)}
        self._empty = {name for name, each in known.items() if not each.nodes}
        self._begun = {kernel for name, kernels in self._of.items() if name in begins for kernel in kernels}

    def complete(self) -> dict[str, tuple[str, ...]]:
        above: dict[str, set[str]] = {}
        below = self._descendants()
        for node in self._nodes:
            above[node.name] = self._nearest(node.inputs, above)
            if node.name in self._of or node.operator in SILENT:
                continue
            if kernel := self._kernel_for(node, above[node.name], below[node.name]):
                self._of[node.name] = {kernel}
        found: dict[str, list[str]] = {name: [] for name in self._known}
        for name in self._names:
            for kernel in self._of.get(name, ()):
                found[kernel].append(name)
        return {name: tuple(names) for name, names in found.items()}

    def _kernel_for(self, node: Node, above: set[str], below: set[str]) -> str | None:
        """Return the kernel that an operation belongs to, by the kernels that compute what is above and below it."""
        near = {reader for kernel in above for reader in self._readers[kernel]} if above else set(self._inputs)
        to_reach = sum(self._bits[kernel] for kernel in below)
        fitting = [
            kernel
            for kernel in above | near
            if not self._known[kernel].whole
            and above <= self._inputs[kernel] | {kernel}
            and to_reach & ~self._reached[kernel] == 0
        ]
        if not fitting:
            return None
        if node.operator in TRAILING:
            return min(fitting, key=self._order.__getitem__)
        kernel = max(fitting, key=self._suits)
        self._begun.add(kernel)
        self._empty.discard(kernel)
        return kernel

    def _suits(self, kernel: str) -> tuple[bool, bool, int]:
        """Return how well an operation that begins a kernel suits this one, to be compared."""
        return kernel not in self._begun, kernel in self._empty, self._order[kernel]

    def _nearest(self, names: Sequence[str], beyond: Mapping[str, set[str]]) -> set[str]:
        """Return the kernels of these operations; of those without one, what lies beyond."""
        found: set[str] = set()
        for name in names:
            found |= {k for k in self._of[name] if k in self._inputs} if name in self._of else beyond.get(name, set())
        return found

    def _descendants(self) -> dict[str, set[str]]:
        """Return the kernels of the nearest descendants that are named, of each operation."""
        users: dict[str, list[str]] = {}
        for node in self._nodes:
            for name in node.inputs:
                users.setdefault(name, []).append(node.name)
        below: dict[str, set[str]] = {}
        for node in reversed(self._nodes):
            below[node.name] = self._nearest(users.get(node.name, ()), below)
        return below

    def _read(self, name: str) -> set[str]:
        """Return the kernels whose results a kernel reads, through layout changes."""
        found: set[str] = set()
        waiting, seen = list(self._known[name].inputs), {name}
        while waiting:
            other = waiting.pop()
            if other in seen or other not in self._known:
                continue
            seen.add(other)
            if self._known[other].layout:
                waiting += self._known[other].inputs
            else:
                found.add(other)
        return found


def _that_compute(nodes: Sequence[Node]) -> list[Node]:
    """Return the operations that depend on an input: the others are constants when the model runs."""
    names, depend = {node.name for node in nodes}, set[str]()
    for node in nodes:
        if any(name in depend or name not in names for name in node.inputs):
            depend.add(node.name)
    return [node for node in nodes if node.name in depend]
