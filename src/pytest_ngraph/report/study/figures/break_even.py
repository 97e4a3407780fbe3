"""The number of samples after which the time to compile is paid back."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, in_panels, of_metric, of_models_or_blocks, side_by_side

TITLE = "samples"


def break_even(study: Study) -> Figure:
    figure = Figure(
        name="break_even",
        title="Samples until compiling is paid back",
        note="Seconds to compile over the seconds that it saves per sample, against identity at the same batch size, "
        "with 95 % intervals. A triangle at the upper edge means never: the compiler is not faster.",
    )
    rows = of_models_or_blocks(of_metric(study, "break_even")).with_columns(never=pl.col("value").is_infinite())
    if rows.is_empty():
        return figure.without("needs a model under identity and under another compiler at the same batch size")
    if rows["never"].all():
        return figure.without("no compiler is faster than identity, so compiling is never paid back")
    shown, left_out = fitting(in_panels(rows, "{} on {}", "network", "place"))
    return figure.drawn(_chart(shown, Palette.of(study)), left_out)


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    base = alt.Chart().encode(x=panels.batch_sizes(), color=palette.colour(rows["compiler"]))
    y, low = (panels.axis(field, TITLE, log=True) for field in ("value", "low"))
    layers = [
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(y=low, y2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            y=y, shape=palette.symbol(rows["compiler"]), tooltip=panels.tooltip(rows, TITLE)
        ),
        base.mark_point(filled=True, size=50, shape="triangle-up")
        .transform_filter("datum.never")
        .encode(y=alt.value(4), tooltip=panels.scope(rows)),
    ]
    return panels.aligned(layers, panels.positive(rows), ("value", "low", "high", "never"), side_by_side(rows))
