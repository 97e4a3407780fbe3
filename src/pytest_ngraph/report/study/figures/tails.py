"""How much longer the slowest calls of each case take than most."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import CELL, fitting, of_metric

MOST_NETWORKS = 30
STEP = 14
"""Pixels per workload."""
TITLE = "p99 / p50"


def tails(study: Study) -> Figure:
    figure = Figure(
        name="tails",
        title="How much longer the slowest calls take",
        note="p99 of single calls over their p50: at 1 (dashed), all calls take as long. Bars are the 95 % interval of "
        "p99; without an upper end, they end at the point.",
    )
    middle = of_metric(study, "p50_s").select(*CELL, middle="value")
    rows = of_metric(study, "p99_s").join(middle, on=CELL, how="inner", nulls_equal=True, maintain_order="left")
    if rows.is_empty():
        return figure.without("needs single calls, enough for p99: --ngraph-tails times them")
    ends = [pl.coalesce(end, "value") / pl.col("middle") for end in ("low", "high")]
    rows = rows.with_columns(
        pl.col("value") / pl.col("middle"), *ends, panel=pl.format("{}, batch {}", "place", "batch_size")
    )
    shown, left_out = fitting(rows, by="network", most=MOST_NETWORKS)
    return figure.drawn(_chart(shown, Palette.of(study)), left_out)


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    base = alt.Chart().encode(
        y=alt.Y("network:N", title=None, sort=None),
        color=palette.colour(rows["compiler"]),
    )
    scale = alt.Scale(type="log", nice=False)
    x, low = (alt.X(f"{field}:Q", title=TITLE, axis=alt.Axis(tickCount=4), scale=scale) for field in ("value", "low"))
    equal = alt.Chart(panels.NOTHING).mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=alt.datum(1))
    layers = (
        equal,
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            x=x, shape=palette.symbol(rows["compiler"]), tooltip=panels.tooltip(rows, TITLE)
        ),
    )
    panel = alt.layer(*layers).properties(width=panels.WIDTH, height=STEP * rows["network"].n_unique())
    return panels.in_a_grid(panel, rows, ("value", "low", "high"), 3)
