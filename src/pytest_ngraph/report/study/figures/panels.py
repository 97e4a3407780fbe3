"""Panels of curves: one value over an axis of few steps, a curve for each compiler, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY, filtered
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import are_comparable, fitting, inlined, side_by_side, spans_decades

WIDTH, HEIGHT = 150, 105
"""Size of a panel in pixels."""
SPACING = {"column": 62, "row": 88}
"""Pixels between the frames of `aligned` panels: room for labels, titles and headings."""
SHARED = {"column": 16, "row": 88}
"""The same where only the first panel of a row has an axis of values."""
NOTHING = alt.InlineData(values=[{}])
"""The data of a mark that belongs to no row."""


def batch_sizes() -> alt.X:
    """Return the axis of batch sizes, evenly spaced: for powers of two, a logarithmic axis."""
    return steps("batch_size", "batch size")


def steps(field: str, title: str) -> alt.X:
    """Return an axis with evenly spaced steps, one for each value in the data."""
    return alt.X(f"{field}:O", title=title, axis=alt.Axis(labelAngle=0))


def axis(field: str, title: str, *, log: bool = False) -> alt.Y:
    """Return a vertical axis for a number; the title includes the unit."""
    # Flush labels do not reach above the frame, where the heading is.
    if log:
        decades = alt.Axis(tickCount=4, format="~s", labelFlush=True)
        return alt.Y(f"{field}:Q", title=title, scale=alt.Scale(type="log"), axis=decades)
    return alt.Y(f"{field}:Q", title=title, axis=alt.Axis(tickCount=4, labelFlush=True))


def drawn(
    figure: Figure,
    study: Study,
    rows: pl.DataFrame,
    x: alt.X,
    title: str,
    *,
    by: str = "family",
    reference: float | None = None,
) -> Figure:
    """Return the figure with `curves` of the panels that fit; `by` has a value for each panel of a row."""
    shown, left_out = fitting(rows)
    columns = side_by_side(shown, by)
    return figure.drawn(curves(shown, Palette.of(study), x, title, columns=columns, reference=reference), left_out)


def curves(
    rows: pl.DataFrame, palette: Palette, x: alt.X, title: str, *, columns: int, reference: float | None = None
) -> alt.FacetChart:
    """Return a panel for each value of the column `panel`.

    Args:
        rows: with columns value, low and high.
        title: of the vertical axis, with the unit. The axis is logarithmic where values span decades.
        columns: panels side by side. They share the axis of values where each keeps a good part of it.
        reference: the value at which a dashed line is drawn; None for no line.
    """
    log = spans_decades(rows)
    y, low = (axis(field, title, log=log) for field in ("value", "low"))
    base = alt.Chart().encode(x=x, color=palette.colour(rows["compiler"]))
    layers: list[alt.Chart] = [] if reference is None else [line_at(reference)]
    layers += [
        base.mark_line(strokeWidth=1.5).encode(y=y),
        base.mark_rule(opacity=INTERVAL_OPACITY, strokeWidth=1.5).encode(y=low, y2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            y=y, shape=palette.symbol(rows["compiler"]), tooltip=tooltip(rows, title)
        ),
    ]
    shown = positive(rows) if log else rows
    return aligned(layers, shown, ("value", "low", "high"), columns, shared=are_comparable(rows, log=log))


def aligned(
    layers: Sequence[alt.Chart], rows: pl.DataFrame, fields: Sequence[str], columns: int, *, shared: bool = False
) -> alt.FacetChart:
    """Return the same as `in_a_grid`, with the panels' frames aligned; for axes with short labels, such as numbers.

    Args:
        shared: whether all panels have the same axis of values.
    """
    panel = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT)
    grid: alt.FacetChart = in_a_grid(panel, rows, fields, columns).properties(
        bounds="flush", spacing=SHARED if shared else SPACING
    )
    return grid.resolve_scale(x="independent", y="shared") if shared else grid


def in_a_grid(
    panel: alt.LayerChart, rows: pl.DataFrame, fields: Sequence[str], columns: int, **held_by: tuple[str, ...]
) -> alt.FacetChart:
    """Return the layers drawn once for each value of `panel`, in the order of the rows, each with its own axes.

    Args:
        fields: the columns that the layers encode, besides those of the scope.
        columns: panels side by side.
        held_by: as in `filters.filtered`.
    """
    order = rows.select("panel").unique(maintain_order=True).with_row_index("panel_order")
    ordered = rows.join(order, on="panel", how="left", maintain_order="left")
    # The device has its own line, because long names side by side would overlap.
    header = alt.Header(labelExpr="split(datum.label, ' on ')")
    facet = alt.Facet("panel:N", title=None, sort=alt.EncodingSortField("panel_order", op="min"), header=header)
    grid: alt.FacetChart = panel.facet(
        facet, columns=min(columns, order.height), data=inlined(ordered, "panel", "panel_order", *fields)
    )
    with_own_axes: alt.FacetChart = grid.resolve_scale(x="independent", y="independent")
    return filtered(with_own_axes, **held_by)


def line_at(value: float) -> alt.Chart:
    """Return a dashed horizontal line."""
    line: alt.Chart = alt.Chart(NOTHING).mark_rule(strokeDash=[3, 3], opacity=0.6).encode(y=alt.datum(value))
    return line


def tooltip(rows: pl.DataFrame, title: str) -> list[alt.Tooltip]:
    """Return the tooltip of a point: what it belongs to, the value and its interval."""
    return [*scope(rows), *numbers(title)]


def numbers(title: str) -> list[alt.Tooltip]:
    """Return the value and its interval, for a tooltip."""
    fields = (("value", title), ("low", "95 % interval, low"), ("high", "95 % interval, high"))
    return [alt.Tooltip(f"{name}:Q", title=text, format=".4~g") for name, text in fields]


def scope(rows: pl.DataFrame) -> list[alt.Tooltip]:
    """Return what a mark belongs to, for a tooltip."""
    fields = (
        ("network", "workload"),
        ("family", "family"),
        ("compiler", "compiler"),
        ("batch_size", "batch size"),
        ("place", "device"),
    )
    return [alt.Tooltip(f"{name}:N", title=text) for name, text in fields if name in rows.columns]


def positive(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without the bounds that a logarithmic axis cannot show, such as those of intervals to zero."""
    drawable = (pl.col("low") > 0) & pl.col("high").is_finite()
    return rows.with_columns(pl.when(drawable).then("low").alias("low"), pl.when(drawable).then("high").alias("high"))
