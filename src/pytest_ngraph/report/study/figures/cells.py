"""Panels of cells: a value over batch size and another column, as colour and as text."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.figures import panels

WIDTH, HEIGHT = 44, 22
"""Size of a cell in pixels."""


def cells(
    rows: pl.DataFrame,
    row: str,
    y: alt.Y,
    colour: alt.Color,
    text: alt.Text,
    *,
    light_text: str,
    title: str,
    columns: int,
) -> alt.FacetChart:
    """Return a panel for each value of the column `panel`, with a cell for each row.

    Args:
        rows: with columns value, low and high, and `text` if that is the text of a cell.
        row: the column that y encodes.
        light_text: the condition under which a cell is so dark that its text must be light.
        title: of the value, with the unit.
        columns: panels side by side.
    """
    base = alt.Chart().encode(x=panels.batch_sizes(), y=y, tooltip=panels.tooltip(rows, title))
    ink = alt.condition(light_text, alt.value("#ffffff"), alt.value("#111111"))
    panel = alt.layer(base.mark_rect().encode(color=colour), base.mark_text().encode(text=text, color=ink))
    tallest = max(own[row].n_unique() for own in rows.partition_by("panel"))
    sized = panel.properties(width=WIDTH * rows["batch_size"].n_unique(), height=HEIGHT * tallest)
    return panels.in_a_grid(sized, rows, ("value", "low", "high", "text"), columns)
