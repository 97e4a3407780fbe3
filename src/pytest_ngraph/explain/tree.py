"""The time of one case as a tree of its network's modules, with the kernels of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_ngraph.explain.fusions import times
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.modules import Times, choose
from pytest_ngraph.explain.parts import names_modules
from pytest_ngraph.explain.places import LAYOUT, UNATTRIBUTED, is_within, parts, place
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.explain.rows import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Twig:
    """Kernels of one module that do the same.

    Attributes:
        label: the operators in each.
        kind: which of the library's kernels they are.
        start: seconds of a call before them, where a call runs in the order of the network.
    """

    label: str
    kind: str
    count: int
    start: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A module with all its parts, or a part of the time that belongs to none.

    Attributes:
        kind: as in `rows.Row`.
        name: of a module, its name in the one above it; of an operator, its own; else empty.
        start: as in `Twig`.
        is_open: whether something happens among its parts.
        inside: its parts and its own kernels, in the order of the network.
    """

    kind: Kind
    name: str = ""
    start: float
    seconds: float
    is_open: bool = False
    inside: tuple[Branch | Twig, ...] = ()


def grown(profile: KeptProfile) -> list[Branch]:
    """Return the network, or kinds of operators where too little was profiled to name modules, then the rest."""
    groups: dict[str, list[Kernel]] = {"module": [], "layout": [], "unattributed": []}
    for kernel in profile.kernels:
        groups[place(kernel, {}).group].append(kernel)
    grower = _Grower(profile)
    if names_modules(profile):
        found = [grower.module("", groups["module"], 0.0)] if groups["module"] else []
    else:
        found = list(_operators([*groups["module"], *groups["unattributed"]]))
        groups["unattributed"] = []
    for kind in (LAYOUT.group, UNATTRIBUTED.group):
        if own := groups[kind]:
            start = sum(branch.seconds for branch in found)
            found.append(Branch(kind=kind, start=start, seconds=_seconds(own), inside=tuple(_twigs(own, start))))
    start = sum(branch.seconds for branch in found)
    return [*found, Branch(kind="outside", start=min(start, profile.latency_s), seconds=profile.latency_s - start)]


class _Grower:
    def __init__(self, profile: KeptProfile) -> None:
        self._position = {path: number for number, path in enumerate(profile.modules)}
        own: dict[str, float] = {}
        for kernel in profile.kernels:
            if (at := place(kernel, {})).group == "module":
                own[at.module] = own.get(at.module, 0.0) + kernel.seconds
        times = {path: np.array([[seconds]]) for path, seconds in own.items()}
        self._shown = [each.module for each in choose(Times(times, side_by_side=True))] if own else []

    def module(self, path: str, kernels: Sequence[Kernel], start: float) -> Branch:
        """Return the branch of a module, given the kernels of all its parts."""
        depth = len(parts(path))
        groups: dict[str, list[Kernel]] = {}
        for kernel in sorted(kernels, key=self._first):
            below = parts(place(kernel, {}).module)[depth : depth + 1]
            groups.setdefault("".join(below), []).append(kernel)
        inside: list[Branch | Twig] = []
        now = start
        for name, own in groups.items():
            of = [self.module(f"{path}.{name}" if path else name, own, now)] if name else list(_twigs(own, now))
            inside += of
            now += _seconds(own)
        is_open = any(shown != path and is_within(shown, path) for shown in self._shown)
        name = parts(path)[-1] if path else ""
        return Branch(
            kind="module", name=name, start=start, seconds=_seconds(kernels), is_open=is_open, inside=tuple(inside)
        )

    def _first(self, kernel: Kernel) -> int:
        return min(self._position.get(path, len(self._position)) for path in kernel.modules)


def _operators(kernels: Sequence[Kernel]) -> Iterator[Branch]:
    """Yield a branch for each kind of operator, the heaviest first."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.operator, []).append(kernel)
    start = 0.0
    for name, own in sorted(groups.items(), key=lambda item: _seconds(item[1]), reverse=True):
        yield Branch(kind="operator", name=name, start=start, seconds=_seconds(own), inside=tuple(_twigs(own, start)))
        start += _seconds(own)


def _twigs(kernels: Sequence[Kernel], start: float) -> Iterator[Twig]:
    groups: dict[tuple[str, str], list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault((kernel.operator, kernel.kind), []).append(kernel)
    for (label, kind), own in groups.items():
        yield Twig(
            label=label, kind=kind, count=sum(times(kernel, {}) for kernel in own), start=start, seconds=_seconds(own)
        )
        start += _seconds(own)


def _seconds(kernels: Sequence[Kernel]) -> float:
    return sum(kernel.seconds for kernel in kernels)
