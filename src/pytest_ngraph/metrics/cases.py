"""The metrics of single cases, for all cases at once."""

from __future__ import annotations

import numpy as np

from pytest_ngraph.metrics import load, percentiles, ratios, readings
from pytest_ngraph.metrics.absence import unmeasured_rows
from pytest_ngraph.metrics.cells import Cells
from pytest_ngraph.metrics.column import Column
from pytest_ngraph.metrics.panels import Panels
from pytest_ngraph.stats import Estimates


def case_columns(panels: Panels) -> dict[str, Column]:
    """Return every metric by name. Those that take draws are still empty: `ratios.fill` adds them chunk by chunk."""
    cells = panels.cells
    throughput, latency_s = _throughput(cells), _latency_s(cells)
    return {
        "throughput": throughput,
        "latency_s": latency_s,
        "tokens_per_s": readings.times_reading(cells, throughput, "tokens"),
        **percentiles.columns(cells, unmeasured_rows(cells)),
        "max_rate": load.column(cells, unmeasured_rows(cells)),
        "time_to_first_token_s": readings.times_reading(cells, latency_s, "first_tokens"),
        "speedup": ratios.column(panels, ratios.RATIOS["speedup"]),
        "rtr": ratios.column(panels, ratios.RATIOS["rtr"]),
        "ase": ratios.column(panels, ratios.RATIOS["rtr"]),
        "bsr": ratios.column(panels, ratios.RATIOS["bsr"]),
        "compile_s": readings.compile_s(cells),
        "break_even": ratios.break_even_column(panels),
        "score": readings.reading(cells, "score"),
        "cpu_percent": readings.reading(cells, "cpu_percent"),
        "cpu_reduction": readings.cpu_reduction(panels),
        "worker_memory_bytes": readings.reading(cells, "worker_memory_bytes"),
        "device_memory_bytes": readings.reading(cells, "device_memory_bytes"),
        **readings.costs(cells),
    }


def _throughput(cells: Cells) -> Column:
    column = Column.empty(len(cells.cases), unmeasured_rows(cells))
    every = cells.latency_s.dividing(cells.batch_sizes)
    rows = np.flatnonzero(cells.measured)
    column.put(rows, Estimates(every.values[rows], every.lows[rows], every.highs[rows]))
    return column


def _latency_s(cells: Cells) -> Column:
    column = Column.empty(len(cells.cases), unmeasured_rows(cells))
    rows = np.flatnonzero(cells.measured)
    latency = cells.latency_s
    column.put(rows, Estimates(latency.values[rows], np.maximum(0.0, latency.lows[rows]), latency.highs[rows]))
    return column
