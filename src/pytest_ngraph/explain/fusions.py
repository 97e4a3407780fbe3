"""Compare what compilers made of programs: fusions, kinds of kernels, layout changes and providers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from pytest_ngraph.artifact import Node
from pytest_ngraph.explain.places import lowest
from pytest_ngraph.explain.profile import PYTHON, SILENT, Kernel, Profile

MOST_OPERATORS = 5
"""Operators that a label names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Kernels that do the same.

    Attributes:
        label: the operators that went into each, `conv2d+batch_norm+relu`; those of steps that are timed
            together, `2 x conv2d and relu`; the library's own word where none is known.
        kind: which of the library's kernels they are; empty where it does not say.
        count: how many; 0 where they are none that are counted.
        seconds: seconds per call of all.
    """

    label: str
    kind: str
    count: int
    seconds: float


class KindChange(NamedTuple):
    """A kernel that does the same in both, by another kind of kernel."""

    module: str
    label: str
    base: str
    head: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledDifference:
    """What compiling made differently of two programs, or two compilers of one.

    Attributes:
        lost: fusions that only the base has, with their number: what they fuse is in several kernels of the head.
        gained: likewise, those that only the head has.
        kinds: kernels of another kind.
        layout: seconds per call and number of the layout changes of base and head.
        providers: what executes kernels of base and head, with how many kernels.
    """

    lost: dict[str, int]
    gained: dict[str, int]
    kinds: tuple[KindChange, ...]
    layout: tuple[tuple[float, int], tuple[float, int]]
    providers: tuple[dict[str, int], dict[str, int]]

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return asdict(self) | {"kinds": [change._asdict() for change in self.kinds]}


def works(kernels: Iterable[Kernel], nodes: Sequence[Node]) -> list[Work]:
    """Return the kernels that do the same together, those that take longest first."""
    operators = {node.name: node.operator for node in nodes}
    found: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        found.setdefault((label(kernel, operators), kernel.kind), []).append(kernel)
    made = [
        Work(
            label=name,
            kind=kind,
            count=sum(times(kernel, operators) for kernel in same),
            seconds=sum(kernel.seconds for kernel in same),
        )
        for (name, kind), same in found.items()
    ]
    return sorted(made, key=lambda work: work.seconds, reverse=True)


def label(kernel: Kernel, operators: Mapping[str, str]) -> str:
    """Return what a kernel computes, by the program's operators: `conv2d+relu`."""
    loud = _loud(kernel, operators)
    if not loud:
        return kernel.operator
    if kernel.runs:
        counts = Counter(loud)
        shown = [f"{count} x {name}" if count > 1 and len(counts) > 1 else name for name, count in counts.items()]
        return " and ".join(shown)
    more = f"+{len(loud) - MOST_OPERATORS} more" if len(loud) > MOST_OPERATORS else ""
    return "+".join(loud[:MOST_OPERATORS]) + more


def times(kernel: Kernel, operators: Mapping[str, str]) -> int:
    """Return how often a kernel does what its label says; 0 where it is none that is counted."""
    if kernel.operator == PYTHON:
        return 0
    return kernel.runs if kernel.runs and len(set(_loud(kernel, operators))) <= 1 else 1


def compare(base: Profile, head: Profile, matched: Mapping[str, str] | None = None) -> CompiledDifference:
    """Return what compiling made differently.

    Args:
        matched: names of the head's nodes by those of the base's, as `graphs.compare` finds them; None where both were
            compiled from one program.
    """
    same = {node.name: node.name for node in base.nodes} if matched is None else matched
    in_base = _by_nodes(base, same)
    in_head = _by_nodes(head, {name: name for name in same.values()})
    return CompiledDifference(
        lost=_fusions(base, in_base, in_head),
        gained=_fusions(head, in_head, in_base),
        kinds=tuple(_kinds(in_base, in_head, head)),
        layout=(_layout(base), _layout(head)),
        providers=(_providers(base), _providers(head)),
    )


def _loud(kernel: Kernel, operators: Mapping[str, str]) -> list[str]:
    """Return the operators in a kernel, by the program, without those that compute nothing beside others."""
    named = [operators[node] for node in kernel.nodes if node in operators]
    return [operator for operator in named if operator not in SILENT] or named[:1]


def _by_nodes(profile: Profile, names: Mapping[str, str]) -> dict[frozenset[str], Kernel]:
    """Return the kernels by what went into them that both programs have, by the head's names."""
    found = {frozenset(names[node] for node in kernel.nodes if node in names): kernel for kernel in profile.kernels}
    found.pop(frozenset(), None)
    return found


def _fusions(
    profile: Profile, own: Mapping[frozenset[str], Kernel], others: Mapping[frozenset[str], Kernel]
) -> dict[str, int]:
    """Return the fusions whose parts are in more than one of the other's kernels, or in several runs of one."""
    operators = {node.name: node.operator for node in profile.nodes}
    of = {
        node: (index, node if kernel.runs >= len(nodes) else "")
        for index, (nodes, kernel) in enumerate(others.items())
        for node in nodes
    }
    split = (
        kernel
        for nodes, kernel in own.items()
        if not kernel.runs and len({of[node] for node in nodes if node in of}) > 1
    )
    return dict(Counter(label(kernel, operators) for kernel in split).most_common())


def _kinds(
    base: Mapping[frozenset[str], Kernel], head: Mapping[frozenset[str], Kernel], of_head: Profile
) -> Iterable[KindChange]:
    operators, modules = {node.name: node.operator for node in of_head.nodes}, of_head.modules
    for nodes, kernel in head.items():
        before = base.get(nodes)
        if before is not None and before.kind and kernel.kind and before.kind != kernel.kind:
            yield KindChange(lowest(modules[n] for n in nodes), label(kernel, operators), before.kind, kernel.kind)


def _layout(profile: Profile) -> tuple[float, int]:
    changes = [kernel.seconds for kernel in profile.kernels if kernel.layout]
    return sum(changes), len(changes)


def _providers(profile: Profile) -> dict[str, int]:
    return dict(Counter(kernel.provider for kernel in profile.kernels if kernel.provider).most_common())
