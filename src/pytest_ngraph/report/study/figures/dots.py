"""A dot with its interval for each network and compiler, beside a line at 1."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting

MOST_NETWORKS = 30
STEP = 14
"""Pixels per network."""


def drawn(figure: Figure, study: Study, rows: pl.DataFrame, title: str, scale: alt.Scale | None = None) -> Figure:
    """Return the figure with a panel for each place.

    Args:
        rows: with the columns `panel`, `network`, `compiler`, `value`, `low` and `high`.
        title: of the axis of values.
    """
    shown, left_out = fitting(rows, by="network", most=MOST_NETWORKS)
    return figure.drawn(_chart(shown, Palette.of(study), title, scale or alt.Scale()), left_out)


def _chart(rows: pl.DataFrame, palette: Palette, title: str, scale: alt.Scale) -> alt.FacetChart:
    base = alt.Chart().encode(
        y=alt.Y("network:N", title=None, sort=None),
        color=palette.colour(rows["compiler"]),
    )
    x, low = (alt.X(f"{field}:Q", title=title, axis=alt.Axis(tickCount=4), scale=scale) for field in ("value", "low"))
    layers = (
        alt.Chart(panels.NOTHING).mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=alt.datum(1)),
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(x=low, x2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            x=x, shape=palette.symbol(rows["compiler"]), tooltip=panels.tooltip(rows, title)
        ),
    )
    panel = alt.layer(*layers).properties(width=panels.WIDTH, height=STEP * rows["network"].n_unique())
    return panels.in_a_grid(panel, rows, ("value", "low", "high"), 3)
