"""Rows of an explanation: parts of the time of one case or two, which add up to their latencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pytest_ngraph.explain.fusions import Work, label, works
from pytest_ngraph.explain.modules import SHORTEST_S, WORTH_OPENING, Chosen, Times, choose
from pytest_ngraph.explain.places import LAYOUT, UNATTRIBUTED, Place, is_within, paths_of, place, place_of_main
from pytest_ngraph.explain.profile import Kernel, Profile
from pytest_ngraph.explain.siblings import Siblings, Spanning, spanned
from pytest_ngraph.metrics.between import IN_GENERAL, of_difference
from pytest_ngraph.stats import Estimate, Floats, median_interval

SMALL = 0.01
"""Modules with less than this share of each latency have one row together, except those in which two cases by one
compiler differ."""

Kind = Literal["module", "between", "others", "operator", "layout", "unattributed", "outside"]
"""What a row is about: a module with all its parts; what lies between the parts of a module that have rows; small
modules together; a kind of operator; layout changes; kernels of which no node is known; time outside of kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A part of the time.

    Attributes:
        name: the module's path, empty for the network itself; the operator; how many modules are in it together.
        seconds: seconds per call of each case.
        difference: how many more the second case takes; None for one case.
        share: its share of the latency, or of the difference of the latencies.
        works: the kernels of each case, those that take longest first.
    """

    kind: Kind
    name: str = ""
    seconds: tuple[Estimate, ...]
    difference: Estimate | None
    share: float
    works: tuple[tuple[Work, ...], ...] = ()


class Series:
    """The seconds of the blocks of one profile or two.

    Args:
        fuses_alike: whether two cases are by one compiler.
        due: modules of each case that kernels count for whatever went into them, by the kernel's name (`split_off`).
        side_by_side: whether each case is shown by itself; there may be any number of them then.

    Attributes:
        latency: seconds per call without a profiler; shape (cases, blocks).
        profiled: seconds per call of all kernels; likewise.
    """

    def __init__(
        self,
        profiles: Sequence[Profile],
        due: Sequence[Mapping[str, str]] = (),
        *,
        fuses_alike: bool = False,
        side_by_side: bool = False,
    ) -> None:
        self._profiles = profiles
        self._due = due or [{} for _ in profiles]
        self._side_by_side = side_by_side
        self._fuses_alike = fuses_alike
        self._nodes = [{node.name: node for node in profile.nodes} for profile in profiles]
        self.latency = np.array([[block.latency_s for block in profile.blocks] for profile in profiles])
        self.profiled = np.array([[block.profiled_s for block in profile.blocks] for profile in profiles])
        self._siblings = Siblings({}, {}, ())
        self._siblings = self._joined(self._summed(self._place))
        self._by_place = self._summed(self._place)

    def by_module(self, depth: int | None) -> list[Row]:
        """Return a row for each module that is worth one, for layout changes, and for what belongs to nothing known."""
        own = {at.module: seconds for at, seconds in self._by_place.items() if at.group == "module"}
        rows: list[tuple[Chosen, Floats]] = []
        small: list[tuple[Chosen, Floats]] = []
        for each in choose(times := self._times(own), depth) if own else []:
            seconds = times.itself(each.module) if each.opened else times.within(each.module)
            (small if depth is None and self._is_small(seconds) else rows).append((each, seconds))
        made = [self._of_module(each, seconds) for each, seconds in rows]
        if len(small) == 1:
            made.append(self._of_module(*small[0]))
        elif small:
            made.append(self._row("others", str(len(small)), np.sum([seconds for _, seconds in small], axis=0)))
        return made + self._apart()

    def by_operator(self) -> list[Row]:
        """Return a row for each kind of operator, and for layout changes."""
        operators = [{node.name: node.operator for node in profile.nodes} for profile in self._profiles]

        def named(case: int, kernel: Kernel) -> str:
            return "" if kernel.layout else label(kernel, operators[case])

        summed = self._summed(named)
        rows = [
            self._row("operator", name, seconds, lambda case, kernel, name=name: named(case, kernel) == name)  # type: ignore[misc]
            for name, seconds in summed.items()
            if name
        ]
        return rows + [row for row in self._apart() if row.kind == "layout"]

    def outside(self) -> Row:
        """Return the row of what is not in kernels. Where profiling slows a model down, it is negative."""
        return self._row("outside", "", self.latency - self.profiled)

    def mapped(self) -> tuple[float, ...]:
        """Return the share of each case's profiled time that has a module or is a layout change."""
        unknown = self._by_place.get(UNATTRIBUTED, np.zeros_like(self.profiled))
        return tuple(1 - float(np.median(each)) for each in unknown / np.maximum(self.profiled, SHORTEST_S))

    def of_each(self, seconds: Floats) -> tuple[Estimate, ...]:
        """Return the medians over blocks with their intervals."""
        return tuple(map(median_interval, seconds))

    def difference(self, seconds: Floats) -> Estimate | None:
        """Return how much more the second case takes in the same block; None for one case.

        Blocks of two cases ran in turn, so that a drift cancels. The interval includes how much the same code differs
        from one process to another: each case was profiled in one.
        """
        if len(seconds) != 2:
            return None
        first, second = np.median(seconds, axis=1).tolist()
        return of_difference(median_interval(seconds[1] - seconds[0]), first, second, IN_GENERAL.process)

    def _of_module(self, chosen: Chosen, seconds: Floats) -> Row:
        def belongs(case: int, kernel: Kernel) -> bool:
            group, module = self._place(case, kernel)
            return group == "module" and (
                module == chosen.module if chosen.opened else is_within(module, chosen.module)
            )

        return self._row("between" if chosen.opened else "module", chosen.module, seconds, belongs)

    def _apart(self) -> list[Row]:
        """Return the rows of layout changes and of kernels that belong to nothing known, where there are any."""
        return [
            self._row(at.group, "", self._by_place[at], lambda case, kernel, at=at: self._place(case, kernel) == at)  # type: ignore[misc]
            for at in (LAYOUT, UNATTRIBUTED)
            if at in self._by_place
        ]

    def _row(self, kind: Kind, name: str, seconds: Floats, belongs: Callable[[int, Kernel], bool] | None = None) -> Row:
        found = tuple(
            tuple(works((k for k in profile.kernels if belongs and belongs(case, k)), profile.nodes))
            for case, profile in enumerate(self._profiles)
        )
        return Row(
            kind=kind,
            name=name,
            seconds=self.of_each(seconds),
            difference=self.difference(seconds),
            share=_weight(seconds) / _weight(self.latency) if _weight(self.latency) else 0.0,
            works=found if belongs else (),
        )

    def _is_small(self, seconds: Floats) -> bool:
        """Return whether a module may share a row with others: not if two cases by one compiler differ in it."""
        if self._fuses_alike and abs(_weight(seconds)) >= WORTH_OPENING * abs(_weight(self.latency)):
            return False
        return bool(np.all(np.median(seconds, axis=1) < SMALL * np.median(self.latency, axis=1)))

    def _place(self, case: int, kernel: Kernel) -> Place:
        if kernel.name in self._due[case]:
            return Place("module", self._due[case][kernel.name])
        if self._fuses_alike:
            return place_of_main(kernel, self._nodes[case])
        found = place(kernel, self._nodes[case])
        if found.group != "module":
            return found
        names = spanned(found.module, paths_of(kernel, self._nodes[case]))
        return Place("module", self._siblings.path(found.module, names))

    def _joined(self, by_place: dict[Place, Floats]) -> Siblings:
        """Return which parts of modules are joined, by the kernels of both cases."""
        spanning: dict[Spanning, float] = {}
        for case, profile in enumerate(self._profiles):
            for kernel in profile.kernels:
                at = place(kernel, self._nodes[case])
                if names := spanned(at.module, paths_of(kernel, self._nodes[case])) if at.group == "module" else ():
                    key = Spanning(case, at.module, names)
                    spanning[key] = spanning.get(key, 0.0) + kernel.seconds
        own = {at.module: seconds for at, seconds in by_place.items() if at.group == "module"}
        order = [node.module for profile in self._profiles for node in profile.nodes]
        return Siblings(spanning, Times(own).medians() if own else {}, order)

    def _times(self, own: dict[str, Floats]) -> Times:
        return Times(own, fuses_alike=self._fuses_alike, side_by_side=self._side_by_side)

    def _summed(self, key: Callable[[int, Kernel], Any]) -> dict[Any, Floats]:
        """Return the seconds of all kernels with the same key; shape (cases, blocks) each."""
        summed: dict[Any, Floats] = {}
        for case, profile in enumerate(self._profiles):
            for index, block in enumerate(profile.blocks):
                for kernel in block.kernels:
                    found = summed.setdefault(key(case, kernel), np.zeros_like(self.latency))
                    found[case, index] += kernel.seconds
        return summed


def _weight(seconds: Floats) -> float:
    """Return the median seconds of one case, or by how much more the second of two takes."""
    return float(np.median(seconds[-1] - seconds[0] if len(seconds) == 2 else seconds[0]))
