"""Choose the modules that are worth a row: those at the depth where something happens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from pytest_ngraph.explain.places import parts
from pytest_ngraph.stats import Floats

MOST_ROWS = 14
"""Rows after which no module is opened."""
MOST_ROWS_ALIKE = 100
"""The same for two cases by one compiler, of which only a few modules differ, at any depth."""
WORTH_OPENING = 0.08
"""A module is opened while its weight is at least this share of the whole."""
WORTH_SHOWING = 0.02
"""For cases side by side, a module stays closed if its parts are mostly smaller than this share of each case."""
MOST_ACROSS = 0.3
"""A module stays closed if kernels that span several of its parts take more than this share of a case's time in it: the
parts would show little of that case."""
SHORTEST_S = 1e-12
"""Stands for no time at all where something is divided by it."""


class Times:
    """Seconds by module, of one case or of two.

    Args:
        own: by the module's path, what counts for itself and not for a part of it; shape (cases, blocks) each.
        fuses_alike: whether two cases are by one compiler, so that what spans parts does so in both.
        side_by_side: whether each case is shown by itself. A module then matters by its largest share of a case's time;
            else, of two cases, by how much they differ in it.
    """

    def __init__(self, own: Mapping[str, Floats], *, fuses_alike: bool = False, side_by_side: bool = False) -> None:
        self._own = own
        self._side_by_side = side_by_side
        self._fuses_alike = fuses_alike
        self._most_across = 1.0 if fuses_alike else MOST_ACROSS
        self.most_rows = MOST_ROWS_ALIKE if fuses_alike else MOST_ROWS
        self._within: dict[str, Floats] = {}
        self._children: dict[str, dict[str, None]] = {}
        for path, seconds in own.items():
            names = parts(path)
            for depth in range(len(names) + 1):
                module = ".".join(names[:depth])
                self._within[module] = self._within.get(module, 0) + seconds
                if depth < len(names):
                    self._children.setdefault(module, {})[".".join(names[: depth + 1])] = None
        self.weight = cache(self._weight)

    def within(self, module: str) -> Floats:
        """Return the seconds in a module and all its parts."""
        return self._within[module]

    def medians(self) -> dict[str, list[float]]:
        """Return the seconds in each module and all its parts: of each case, the median of its blocks."""
        return {module: np.median(seconds, axis=1).tolist() for module, seconds in self._within.items()}

    def itself(self, module: str) -> Floats:
        """Return the seconds that count for a module but for none of its parts."""
        return self._own.get(module, np.zeros_like(self._within[module]))

    def children(self, module: str) -> list[str]:
        """Return the parts of a module in which time is spent."""
        return list(self._children.get(module, ()))

    def can_be_opened(self, module: str) -> bool:
        """Return whether the parts of a module show where the time of each case is spent.

        A module that is a single layer in one of two cases, and has parts in the other, stays closed: it differs as a
        whole. So does one in which only one of two cases by one compiler spends time: it is new, or gone.
        """
        across, inside = (np.median(seconds, axis=1) for seconds in (self.itself(module), self.within(module)))
        is_layer = (across >= inside) & (inside > 0)
        is_absent = (inside <= 0) & self._fuses_alike
        if not self.children(module) or np.any(is_layer | is_absent) or np.any(across > self._most_across * inside):
            return False
        return not self._side_by_side or self._has_parts_to_show(module)

    def _has_parts_to_show(self, module: str) -> bool:
        weights = [self.weight(part) for part in self.children(module)]
        return sum(weight for weight in weights if weight >= WORTH_SHOWING) >= 0.5 * sum(weights)

    def _weight(self, module: str) -> float:
        """Return how much a module matters: its share of a case, or by how much two cases differ, also in parts."""
        medians = np.median(self.within(module), axis=1)
        if self._side_by_side or len(medians) == 1:
            wholes = np.median(self.within(""), axis=1)
            return float(np.max(medians / np.maximum(wholes, SHORTEST_S)))
        whole = float(abs(medians[1] - medians[0]))
        in_parts = sum(map(self.weight, self.children(module))) if self.can_be_opened(module) else 0.0
        return max(whole, in_parts)


class Chosen(NamedTuple):
    """A module with a row. If it was opened, its parts have rows, and this one is what lies between them."""

    module: str
    opened: bool = False


def choose(times: Times, depth: int | None = None) -> list[Chosen]:
    """Return the modules that get a row. Together they have all the time.

    Args:
        depth: most names along a path that gets a row; None for the depth where something happens.
    """
    rows, whole = [Chosen("")], times.weight("")
    while candidates := [each.module for each in rows if not each.opened and _opens(times, each.module, whole, depth)]:
        if depth is None and len(rows) >= times.most_rows:
            break
        heaviest = max(candidates, key=times.weight)
        rows.remove(Chosen(heaviest))
        rows += [Chosen(heaviest, opened=True), *map(Chosen, times.children(heaviest))]
    return [each for each in rows if not each.opened or times.itself(each.module).any()]


def _opens(times: Times, module: str, whole: float, depth: int | None) -> bool:
    if depth is not None:
        return len(parts(module)) < depth and bool(times.children(module))
    return times.can_be_opened(module) and times.weight(module) >= WORTH_OPENING * whole
