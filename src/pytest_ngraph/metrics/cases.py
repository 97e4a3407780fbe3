"""The metrics of single cases, for all cases at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.costs import COSTS, NOT_ASKED_FOR
from pytest_ngraph.metrics import load, percentiles
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.panels import NONE, Chunk, Neighbour, Panels
from pytest_ngraph.metrics.sampled import Bools, Rows, Sampled
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


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric that is computed from the draws of throughputs.

    Attributes:
        needs: the other cells that it takes. The first one missing is reported as the reason.
        compute: computes it for rows that have all of these cells.
        trivial: says for which rows it is 1 by definition.
    """

    needs: tuple[Neighbour, ...]
    compute: Callable[[Chunk, Rows], Sampled]
    trivial: Callable[[Panels], Bools]


def case_columns(panels: Panels) -> dict[str, Column]:
    """Return every metric by name. Those computed from draws are still empty; `fill` adds them chunk by chunk."""
    cells = panels.cells
    return {
        "throughput": _throughput(cells),
        "latency_s": _latency_s(cells),
        "tokens_per_s": _times_reading(cells, _throughput(cells), "tokens"),
        **percentiles.columns(cells, _unmeasured(cells)),
        "max_rate": load.column(cells, _unmeasured(cells)),
        "time_to_first_token_s": _times_reading(cells, _latency_s(cells), "first_tokens"),
        "speedup": _ratio(panels, RATIOS["speedup"]),
        "rtr": _ratio(panels, RATIOS["rtr"]),
        "ase": _ratio(panels, RATIOS["rtr"]),
        "bsr": _ratio(panels, RATIOS["bsr"]),
        "compile_s": _compile_s(cells),
        "break_even": _break_even(panels),
        "score": _reading(cells, "score"),
        "cpu_percent": _reading(cells, "cpu_percent"),
        "cpu_reduction": _cpu_reduction(panels),
        "worker_memory_bytes": _reading(cells, "worker_memory_bytes"),
        "device_memory_bytes": _reading(cells, "device_memory_bytes"),
        **_costs(cells),
    }


def fill(columns: Mapping[str, Column], chunk: Chunk) -> None:
    """Compute the metrics that take draws, for the cells of a chunk."""
    for name, ratio in RATIOS.items():
        rows = _missing_in(columns[name], chunk)
        columns[name].put(rows, ratio.compute(chunk, rows).estimates())
    rates = columns["rtr"].estimates
    sizes = chunk.panels.cells.batch_sizes[chunk.rows]
    own = Estimates(rates.values[chunk.rows], rates.lows[chunk.rows], rates.highs[chunk.rows])
    columns["ase"].put(chunk.rows, own.scaled(1 / sizes))
    rows = _missing_in(columns["break_even"], chunk)
    columns["break_even"].put(rows, break_even(chunk, rows).estimates())


def break_even(chunk: Chunk, rows: Rows) -> Sampled:
    """Return compile_s / (1 / T_identity - 1 / T_c) in samples, infinite where c is not faster."""
    own, identity = chunk.throughput(rows), chunk.throughput(chunk.panels.identity[rows])
    compile_s = chunk.panels.cells.readings["compile_s"][rows]
    return Sampled(
        _paid_back(compile_s, 1 / identity.values - 1 / own.values),
        _paid_back(compile_s[:, None], 1 / identity.draws - 1 / own.draws),
        own.known & identity.known,
    )


def _paid_back(compile_s: Floats, gains_s: Floats) -> Floats:
    paid: Floats = np.divide(compile_s, gains_s, out=np.full_like(gains_s, math.inf), where=gains_s > 0)
    return paid


def _missing_in(column: Column, chunk: Chunk) -> Rows:
    """Return the chunk's rows whose estimate is still to be computed."""
    empty = np.isnan(column.estimates.values[chunk.rows])
    rows: Rows = chunk.rows[empty & (column.absent.numbers[chunk.rows] == 0)]
    return rows


def _unmeasured(cells: Cells) -> dict[int, str]:
    return {row: unmeasured(cells, row) for row in np.flatnonzero(~cells.measured).tolist()}


def unmeasured(cells: Cells, row: int, place: str = "") -> str:
    """Return why a cell has no measurement, with its name.

    Args:
        place: where it lies on a further axis, to follow its batch size.
    """
    case = cells.cases[row]
    return f"{case.compiler} at batch size {case.batch_size}{place} {cells.problems[row]}"


def lacking(panels: Panels, row: int, neighbour: Neighbour) -> str:
    """Return why a cell's neighbour is not measured; empty if it is."""
    other = int(getattr(panels, neighbour)[row])
    if other != NONE:
        return "" if panels.cells.measured[other] else unmeasured(panels.cells, other)
    if neighbour == "single":
        return "batch size 1 was not measured"
    size = 1 if neighbour == "identity_single" else panels.cells.cases[row].batch_size
    return f"{IDENTITY} was not measured at batch size {size}"


def _lacking(panels: Panels, needs: tuple[Neighbour, ...], among: Bools) -> dict[int, str]:
    """Return why neighbours are not measured: the first reason of each row that lacks one."""
    reasons: dict[int, str] = {}
    for neighbour in needs:
        for row in np.flatnonzero(among & ~panels.has(neighbour)).tolist():
            reasons.setdefault(row, lacking(panels, row, neighbour))
    return reasons


def _ratio(panels: Panels, ratio: Ratio) -> Column:
    cells = panels.cells
    absent = _unmeasured(cells) | _lacking(panels, ratio.needs, cells.measured)
    column = Column.empty(len(cells.cases), absent)
    ones = column.present & ratio.trivial(panels)
    column.by_definition[ones] = True
    one = np.ones(int(ones.sum()))
    column.put(np.flatnonzero(ones), Estimates(one, one, one))
    return column


def _break_even(panels: Panels) -> Column:
    cells = panels.cells
    inapplicable = dict.fromkeys(np.flatnonzero(_is_identity(panels)).tolist(), INAPPLICABLE_TO_IDENTITY)
    compiling = _compile_s(cells)
    by_definition = {row: why for row, why in compiling.absent.items() if compiling.by_definition[row]} | inapplicable
    column = Column.empty(
        len(cells.cases),
        _lacking(panels, ("identity",), cells.measured) | dict(compiling.absent) | by_definition | _unmeasured(cells),
    )
    column.by_definition[[row for row in by_definition if cells.measured[row]]] = True
    return column


def _cpu_reduction(panels: Panels) -> Column:
    cells = panels.cells
    own = cells.readings["cpu_percent"]
    identity = own[panels.identity]
    inapplicable = _reasons(_is_identity(panels), INAPPLICABLE_TO_IDENTITY)
    column = Column.empty(
        len(cells.cases),
        _unread_cpu(panels, own, identity)
        | _lacking(panels, ("identity",), cells.measured)
        | inapplicable
        | _unmeasured(cells),
    )
    column.by_definition[_is_identity(panels) & cells.measured] = True
    rows = np.flatnonzero(column.present)
    column.put(rows, _exactly(1 - own[rows] / identity[rows]))
    return column


def _unread_cpu(panels: Panels, own: Floats, identity: Floats) -> dict[int, str]:
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
    return (
        _reasons(np.isnan(own), unread)
        | {row: f"{IDENTITY} at batch size {size} used no CPU time" for row, size in zip(idle, sizes, strict=True)}
        | _reasons(has_identity & np.isnan(identity), unread)
    )


def _reasons(where: Bools, reason: str) -> dict[int, str]:
    """Return the same reason for each of these rows."""
    return dict.fromkeys(np.flatnonzero(where).tolist(), reason)


def _throughput(cells: Cells) -> Column:
    column = Column.empty(len(cells.cases), _unmeasured(cells))
    every = cells.latency_s.dividing(cells.batch_sizes)
    rows = np.flatnonzero(cells.measured)
    column.put(rows, Estimates(every.values[rows], every.lows[rows], every.highs[rows]))
    return column


def _latency_s(cells: Cells) -> Column:
    column = Column.empty(len(cells.cases), _unmeasured(cells))
    rows = np.flatnonzero(cells.measured)
    latency = cells.latency_s
    column.put(rows, Estimates(latency.values[rows], np.maximum(0.0, latency.lows[rows]), latency.highs[rows]))
    return column


def _times_reading(cells: Cells, column: Column, name: str) -> Column:
    """Return a metric times a value that was read once for each case."""
    factors = _reading(cells, name)
    rows = np.flatnonzero(factors.present)
    own = column.estimates
    taken = Estimates(own.values[rows], own.lows[rows], own.highs[rows])
    factors.put(rows, taken.scaled(factors.estimates.values[rows]))
    return factors


def _reading(cells: Cells, name: str, reasons: Mapping[int, str] = MappingProxyType({})) -> Column:
    """Return a value that was read once for each case: without samples it has no interval.

    Args:
        reasons: why it was not read, of rows for which this is another reason than usual.
    """
    reason, inapplicable = UNREAD[name]
    values = cells.readings[name]
    unread = np.isnan(values)
    column = Column.empty(len(cells.cases), _reasons(unread, reason) | dict(reasons) | _unmeasured(cells))
    column.by_definition[unread & cells.measured] = inapplicable
    rows = np.flatnonzero(column.present)
    column.put(rows, _exactly(values[rows]))
    return column


def _compile_s(cells: Cells) -> Column:
    unread = np.flatnonzero(np.isnan(cells.readings["compile_s"]) & cells.measured).tolist()
    untimed = dict.fromkeys((row for row in unread if cells.cases[row].is_compiled), NOT_TIMED)
    column = _reading(cells, "compile_s", untimed)
    column.by_definition[list(untimed)] = False
    return column


def _costs(cells: Cells) -> dict[str, Column]:
    """Return the costs to serve, by name. Where they were not asked for, all are one column."""
    if cells.costs:
        return {name: _cost(cells, name) for name in COSTS}
    count = len(cells.cases)
    return dict.fromkeys(COSTS, Column.empty(count, dict.fromkeys(range(count), NOT_ASKED_FOR) | _unmeasured(cells)))


def _cost(cells: Cells, name: str) -> Column:
    """Return a cost to serve, with the interval of its launches."""
    every = range(len(cells.cases))
    found = [cells.costs[row][name] if row in cells.costs else NOT_ASKED_FOR for row in every]
    absent = {row: reason for row, reason in enumerate(found) if isinstance(reason, str)}
    column = Column.empty(len(cells.cases), absent | _unmeasured(cells))
    rows = np.flatnonzero(column.present)
    column.put(rows, Estimates(*np.array([found[row] for row in rows], dtype=np.float64).reshape(-1, 3).T))
    return column


def _exactly(values: Floats) -> Estimates:
    return Estimates(values, values, values)


def _is_identity(panels: Panels) -> Bools:
    own: Bools = panels.identity == np.arange(len(panels.identity))
    return own


def _is_single(panels: Panels) -> Bools:
    own: Bools = panels.single == np.arange(len(panels.single))
    return own


RATIOS: dict[str, Ratio] = {
    "speedup": Ratio(("identity",), Chunk.speedup, _is_identity),
    "rtr": Ratio(("single",), Chunk.rtr, _is_single),
    "bsr": Ratio(
        ("single", "identity", "identity_single"), Chunk.bsr, lambda panels: _is_identity(panels) | _is_single(panels)
    ),
}
