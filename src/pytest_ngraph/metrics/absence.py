"""Why cells have no measurement, or lack one that a metric takes beside their own."""

from __future__ import annotations

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.grouping import NONE
from pytest_ngraph.metrics.panels import Neighbour, Panels
from pytest_ngraph.metrics.sampled import Bools


def unmeasured_rows(cells: Cells) -> dict[int, str]:
    """Return why rows have no measurement, of those that have none."""
    return {row: unmeasured(cells, row) for row in np.flatnonzero(~cells.measured).tolist()}


def unmeasured(cells: Cells, row: int, place: str = "") -> str:
    """Return why a cell has no measurement, with its name.

    Args:
        place: where it lies on a further axis, to follow its batch size.
    """
    case = cells.cases[row]
    return f"{case.compiler} at batch size {case.batch_size}{place} {cells.problems[row]}"


def lacking_rows(panels: Panels, needs: tuple[Neighbour, ...], among: Bools) -> dict[int, str]:
    """Return why neighbours are not measured: the first reason of each row that lacks one."""
    reasons: dict[int, str] = {}
    for neighbour in needs:
        for row in np.flatnonzero(among & ~panels.has(neighbour)).tolist():
            reasons.setdefault(row, lacking(panels, row, neighbour))
    return reasons


def lacking(panels: Panels, row: int, neighbour: Neighbour, place: str = "") -> str:
    """Return why a cell's neighbour is not measured; empty if it is. `place` is that of `unmeasured`."""
    other = int(getattr(panels, neighbour)[row])
    if other != NONE:
        return "" if panels.cells.measured[other] else unmeasured(panels.cells, other, place)
    if neighbour == "single":
        return "batch size 1 was not measured"
    size = 1 if neighbour == "identity_single" else panels.cells.cases[row].batch_size
    return f"{IDENTITY} was not measured at batch size {size}{place}"
