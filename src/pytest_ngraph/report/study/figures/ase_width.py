"""Figure 10: how much scaling efficiency wider blocks lose."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.metrics.text import ratio
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.cells import cells
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import BLOCKS, fitting, in_panels, of_metric, side_by_side, where_any
from pytest_ngraph.report.study.figures.theme import SEQUENTIAL


def ase_width(study: Study) -> Figure:
    figure = Figure(
        name="ase_width",
        number="10",
        title="Batch-width friction: ASE over width and batch size",
        note="Absolute scaling efficiency of blocks at the least depth that was measured at two widths or more. Where "
        "it falls faster at greater width, width and batch size compete for the same resources.",
    )
    rows = of_metric(study, "ase", BLOCKS)
    stack = ("place", "label", "compiler", "sizes", "depth")
    rows = rows.filter(pl.col("width").n_unique().over(stack) > 1, (pl.col("batch_size") > 1).any().over(stack))
    if rows.is_empty():
        return figure.without("needs blocks (conv, mha) at two widths or more, at batch size 1 and at another one")
    shallowest = rows.filter(pl.col("depth") == pl.col("depth").min().over(stack[:-1]))
    sizes = where_any(", {}", "sizes")
    panelled = in_panels(shallowest, "{}, {}, depth {}{} on {}", "label", "compiler", "depth", sizes, "place")
    labelled = panelled.with_columns(text=pl.col("value").map_elements(ratio, return_dtype=pl.String))
    shown, left_out = fitting(labelled.sort("place", "label", "compiler", "sizes", "width", "batch_size"))
    chart = cells(
        shown,
        "width",
        y=alt.Y("width:O", title="width", sort="descending"),
        colour=alt.Color("value:Q", title="ASE", scale=alt.Scale(scheme=SEQUENTIAL, domainMin=0)),  # type: ignore[arg-type]
        text=alt.Text("text:N"),
        light_text="datum.value < 0.5",
        title="ASE",
        columns=side_by_side(shown, by="compiler"),
    )
    return figure.drawn(chart, left_out)
