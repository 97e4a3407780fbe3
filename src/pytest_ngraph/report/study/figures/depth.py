"""Figure 7: the gain of compilers on stacks of blocks, over depth."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import BLOCKS, COMPILED, in_panels, of_metric, where_any


def depth(study: Study) -> Figure:
    figure = Figure(
        name="depth",
        number="7",
        title="Throughput multiplier over depth",
        note="Throughput of stacked blocks over that of identity at the same depth, width and batch size, with 95 % "
        "intervals. Where a curve rises, the compiler uses the repeated pattern.",
    )
    width, sizes = where_any(", width {}", "width"), where_any(", {}", "sizes")
    rows = of_metric(study, "speedup", BLOCKS & COMPILED)
    rows = in_panels(rows, "{}{}{}, batch {} on {}", "label", width, sizes, "batch_size", "place")
    rows = rows.filter(pl.col("depth").n_unique().over("panel") > 1)
    rows = rows.sort("place", "label", "width", "batch_size", maintain_order=True)
    if rows.is_empty():
        return figure.without("needs blocks (conv, mha) under identity and another compiler at two depths or more")
    x = panels.steps("depth", "depth [blocks]")
    return panels.drawn(figure, study, rows, x, "times identity", by="batch_size", reference=1)
