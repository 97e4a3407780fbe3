"""The efficiency that each compiler loses as batches grow."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, of_metric

MOST_NETWORKS = 30
STEP = 14
"""Pixels per workload."""
TITLE = "friction φ"


def friction(study: Study) -> Figure:
    figure = Figure(
        name="friction",
        title="Friction as batches grow",
        note="φ of the fit ASE(b) = b^-φ over all batch sizes, with 95 % intervals: 0 scales perfectly, at 1 (dashed) "
        "throughput is saturated, above it batching hurts.",
    )
    rows = of_metric(study, "friction")
    if rows.is_empty():
        return figure.without("needs a workload at batch size 1 and at another one")
    shown, left_out = fitting(rows, by="network", most=MOST_NETWORKS)
    return figure.drawn(_chart(shown.with_columns(panel="place"), Palette.of(study)), left_out)


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    base = alt.Chart().encode(
        y=alt.Y("network:N", title=None, sort=None),
        color=palette.colour(rows["compiler"]),
    )
    x, low = (alt.X(f"{field}:Q", title=TITLE, axis=alt.Axis(tickCount=4)) for field in ("value", "low"))
    saturated = alt.Chart(panels.NOTHING).mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=alt.datum(1))
    layers = (
        saturated,
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            x=x, shape=palette.symbol(rows["compiler"]), tooltip=panels.tooltip(rows, TITLE)
        ),
    )
    panel = alt.layer(*layers).properties(width=panels.WIDTH, height=STEP * rows["network"].n_unique())
    return panels.in_a_grid(panel, rows, ("value", "low", "high"), 3)
