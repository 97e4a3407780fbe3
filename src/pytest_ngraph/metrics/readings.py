"""Metrics of what is read once of a case, without samples: compiling, CPU time, memory, costs to serve."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.costs import COSTS, NOT_ASKED_FOR
from pytest_ngraph.metrics.absence import lacking_rows, unmeasured_rows
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column, Same
from pytest_ngraph.metrics.panels import Panels
from pytest_ngraph.stats import Estimates, Floats

NOT_TIMED = "how long compiling takes by itself was not recorded"
INAPPLICABLE_TO_IDENTITY = "identity is the reference of the other compilers"
UNREAD = {
    "compile_s": ("nothing is compiled", True),
    "score": ("no function scores the outputs", True),
    "cpu_percent": ("CPU time was not recorded", False),
    "worker_memory_bytes": ("memory was not recorded", False),
    "device_memory_bytes": ("no accelerator's memory was read", True),
    "tokens": ("the workload has no text whose tokens are known", True),
    "first_tokens": ("the workload is no prefill", True),
}
"""Why a reading is absent, and whether it is so by definition."""


def reading(cells: Cells, name: str, reasons: Mapping[int, str] = MappingProxyType({})) -> Column:
    """Return a value that was read once for each case: without samples it has no interval.

    Args:
        reasons: why it was not read, of rows for which this is another reason than usual.
    """
    reason, inapplicable = UNREAD[name]
    values = cells.readings[name]
    unread = np.isnan(values)
    column = Column.exactly(values, Same(unread, reason), reasons, unmeasured_rows(cells))
    column.by_definition[unread & cells.measured] = inapplicable
    return column


def times_reading(cells: Cells, column: Column, name: str) -> Column:
    """Return a metric times a value that was read once for each case."""
    factors = reading(cells, name)
    rows = np.flatnonzero(factors.present)
    product = Column.empty(len(cells.cases), factors.absent)
    product.by_definition[:] = factors.by_definition
    product.put(rows, column.estimates.take(rows).scaled(factors.estimates.values[rows]))
    return product


def compile_s(cells: Cells) -> Column:
    """Return the seconds to compile, of which those of older versions may be missing."""
    unread = np.flatnonzero(np.isnan(cells.readings["compile_s"]) & cells.measured).tolist()
    of_each = {cells.cases[row].compiler: cells.cases[row] for row in unread}
    compiled = {compiler: case.is_compiled for compiler, case in of_each.items()}
    untimed = dict.fromkeys((row for row in unread if compiled[cells.cases[row].compiler]), NOT_TIMED)
    column = reading(cells, "compile_s", untimed)
    column.by_definition[list(untimed)] = False
    return column


def cpu_reduction(panels: Panels) -> Column:
    """Return by how much less CPU time a compiler takes than eager PyTorch."""
    cells = panels.cells
    own = cells.readings["cpu_percent"]
    identity = own[panels.identity]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # where identity used none, it is absent
        reductions = 1 - own / identity
    column = Column.exactly(
        reductions,
        *_unread_cpu(panels, own, identity),
        lacking_rows(panels, ("identity",), cells.measured),
        Same(panels.is_identity(), INAPPLICABLE_TO_IDENTITY),
        unmeasured_rows(cells),
    )
    column.by_definition[panels.is_identity() & cells.measured] = True
    return column


def _unread_cpu(panels: Panels, own: Floats, identity: Floats) -> list[Mapping[int, str] | Same]:
    """Return why CPU time cannot be compared, for rows whose cells are both measured.

    Args:
        panels: the cells and their neighbours.
        own: CPU percent of each cell.
        identity: CPU percent of each cell's identity.
    """
    has_identity = panels.has("identity")
    idle = np.flatnonzero(has_identity & (identity == 0)).tolist()
    sizes = [panels.cells.cases[row].batch_size for row in idle]
    unread = UNREAD["cpu_percent"][0]
    return [
        Same(np.isnan(own), unread),
        {row: f"{IDENTITY} at batch size {size} used no CPU time" for row, size in zip(idle, sizes, strict=True)},
        Same(has_identity & np.isnan(identity), unread),
    ]


def costs(cells: Cells) -> dict[str, Column]:
    """Return the costs to serve, by name. Where they were not asked for, all are one column."""
    if cells.costs:
        return {name: _cost(cells, name) for name in COSTS}
    every = np.ones(len(cells.cases), dtype=np.bool_)
    return dict.fromkeys(COSTS, Column.empty(len(every), Same(every, NOT_ASKED_FOR), unmeasured_rows(cells)))


def _cost(cells: Cells, name: str) -> Column:
    """Return a cost to serve, with the interval of its launches."""
    every = range(len(cells.cases))
    found = [cells.costs[row][name] if row in cells.costs else NOT_ASKED_FOR for row in every]
    absent = {row: reason for row, reason in enumerate(found) if isinstance(reason, str)}
    column = Column.empty(len(cells.cases), absent, unmeasured_rows(cells))
    rows = np.flatnonzero(column.present)
    column.put(rows, Estimates(*np.array([found[row] for row in rows], dtype=np.float64).reshape(-1, 3).T))
    return column
