"""Metrics that are computed from the draws of throughputs: speedup, RTR, ASE, BSR and break-even."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from pytest_ngraph.metrics.absence import lacking_rows, unmeasured_rows
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.panels import Chunk, Neighbour, Panels
from pytest_ngraph.metrics.rates import Rates
from pytest_ngraph.metrics.readings import INAPPLICABLE_TO_IDENTITY, compile_s
from pytest_ngraph.metrics.sampled import Bools, Rows, in_cache, tails, with_bounds
from pytest_ngraph.stats import Estimates, Floats
from pytest_ngraph.stats.bootstrap import Draws


@dataclass(frozen=True, slots=True)
class Ratio:
    """A metric that is computed from the draws of throughputs.

    Attributes:
        needs: the other cells that it takes. The first one missing is reported as the reason.
        compute: computes it for rows that have all of these cells.
        trivial: says for which rows it is 1 by definition.
    """

    needs: tuple[Neighbour, ...]
    compute: Callable[[Chunk, Rows], Rates]
    trivial: Callable[[Panels], Bools]


RATIOS: dict[str, Ratio] = {
    "speedup": Ratio(("identity",), Chunk.speedup, Panels.is_identity),
    "rtr": Ratio(("single",), Chunk.rtr, Panels.is_single),
    "bsr": Ratio(
        ("single", "identity", "identity_single"), Chunk.bsr, lambda panels: panels.is_identity() | panels.is_single()
    ),
}


def column(panels: Panels, ratio: Ratio) -> Column:
    """Return the column of a ratio, in which only what follows by definition is filled in."""
    cells = panels.cells
    lacking = lacking_rows(panels, ratio.needs, cells.measured)
    found = Column.empty(len(cells.cases), unmeasured_rows(cells), lacking)
    ones = found.present & ratio.trivial(panels)
    found.by_definition[ones] = True
    one = np.ones(int(ones.sum()))
    found.put(np.flatnonzero(ones), Estimates(one, one, one))
    return found


def break_even_column(panels: Panels) -> Column:
    """Return the column of the break-even, to be filled in."""
    cells = panels.cells
    inapplicable = dict.fromkeys(np.flatnonzero(panels.is_identity()).tolist(), INAPPLICABLE_TO_IDENTITY)
    compiling = compile_s(cells)
    by_definition = {row: why for row, why in compiling.absent.items() if compiling.by_definition[row]} | inapplicable
    lacking = lacking_rows(panels, ("identity",), cells.measured)
    found = Column.empty(len(cells.cases), lacking, compiling.absent, by_definition, unmeasured_rows(cells))
    found.by_definition[[row for row in by_definition if cells.measured[row]]] = True
    return found


def fill(columns: Mapping[str, Column], chunk: Chunk) -> None:
    """Compute the metrics that take draws, for the cells of a chunk."""
    for name, ratio in RATIOS.items():
        for rows in in_cache(_missing_in(columns[name], chunk)):
            columns[name].put(rows, ratio.compute(chunk, rows).estimates())
    rates = columns["rtr"].estimates
    present = chunk.rows[columns["ase"].present[chunk.rows]]
    columns["ase"].put(present, rates.take(present).scaled(1 / chunk.panels.cells.batch_sizes[present]))
    for rows in in_cache(_missing_in(columns["break_even"], chunk)):
        columns["break_even"].put(rows, break_even(chunk, rows))


def break_even(chunk: Chunk, rows: Rows) -> Estimates:
    """Return compile_s / (1 / T_identity - 1 / T_c) in samples, infinite where c is not faster."""
    own, identity = chunk.throughput(rows), chunk.throughput(chunk.panels.identity[rows])
    spent_s = chunk.panels.cells.readings["compile_s"][rows]
    gained_s = 1 / identity.values - 1 / own.values
    less, more = tails(_seconds(identity) - _seconds(own))
    low, high = _paid_back(spent_s, more), _paid_back(spent_s, less)
    return with_bounds(_paid_back(spent_s, gained_s), low, high, own.known & identity.known)


def _seconds(rates: Rates) -> Draws:
    """Return draws of the seconds of a sample."""
    return (1 / rates.values).astype(np.float32)[:, None] * np.exp(-rates.logs)


def _paid_back(spent_s: Floats, gained_s: Floats) -> Floats:
    paid: Floats = np.divide(spent_s, gained_s, out=np.full_like(gained_s, math.inf), where=gained_s > 0)
    return paid


def _missing_in(column: Column, chunk: Chunk) -> Rows:
    """Return the chunk's rows whose estimate is still to be computed."""
    empty = np.isnan(column.estimates.values[chunk.rows])
    rows: Rows = chunk.rows[empty & (column.absent.numbers[chunk.rows] == 0)]
    return rows
