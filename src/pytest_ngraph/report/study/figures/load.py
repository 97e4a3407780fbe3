"""How long requests take under load, over their rate."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, in_panels, named, side_by_side, spans_decades

FIELDS = ("per_s", "value", "p50_s", "p95_s", "limit_s")


def load(study: Study) -> Figure:
    figure = Figure(
        name="load",
        title="p99 under load over the rate of requests",
        note="99 of 100 requests took no longer, from when each was due to its answer, the wait in the queue included. "
        "The dashed line is the limit; the rates lie around the highest one that keeps it. p99 of so few requests "
        "varies by tens of percent with when they happened to arrive, so that a curve may fall: the highest rate, with "
        "its interval, is the metric max_rate.",
    )
    if study.loads.is_empty():
        return figure.without("needs cases under load: --objective=serving")
    rows = named(study.loads.with_columns(value="p99_s"))
    rows = in_panels(rows, "{}, batch {} on {}", "network", "batch_size", "place").sort("panel", "compiler", "per_s")
    shown, left_out = fitting(rows)
    return figure.drawn(_chart(shown, Palette.of(study)), left_out)


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    log = spans_decades(rows)
    y, limit = (panels.axis(field, "p99 [s]", log=log) for field in ("value", "limit_s"))
    rate = alt.X("per_s:Q", title="requests/s", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
    base = alt.Chart().encode(x=rate, y=y, color=palette.colour(rows["compiler"]))
    shown = (("per_s", "requests/s"), ("p50_s", "p50 [s]"), ("p95_s", "p95 [s]"), ("value", "p99 [s]"))
    numbers = [alt.Tooltip(f"{field}:Q", title=title, format=".4~g") for field, title in shown]
    layers = (
        alt.Chart().mark_rule(strokeDash=[3, 3], opacity=0.6).encode(y=limit),
        base.mark_line(strokeWidth=1.5),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            shape=palette.symbol(rows["compiler"]), tooltip=[*panels.scope(rows), *numbers]
        ),
    )
    return panels.aligned(layers, rows, FIELDS, side_by_side(rows))
