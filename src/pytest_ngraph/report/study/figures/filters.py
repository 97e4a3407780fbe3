"""The page's controls in every chart: they hide intervals, and rows by device, compiler, family and batch size."""

from __future__ import annotations

from typing import TypeVar

import altair as alt

FIELDS = ("device", "compiler", "family", "batch_size")
INTERVALS = "show_intervals"
INTERVAL_OPACITY = alt.ExprRef(f"{INTERVALS} ? 0.8 : 0")

Chart = TypeVar("Chart", alt.LayerChart, alt.FacetChart, alt.ConcatChart)


def hidden(field: str) -> str:
    """Return the name of the parameter that holds the hidden values of a field."""
    return f"hidden_{field}"


def filtered(chart: Chart, **held_by: tuple[str, ...]) -> Chart:
    """Return the chart with the parameters and the filters that they control.

    Args:
        held_by: as in `without_hidden`.
    """
    return without_hidden(with_parameters(chart), **held_by)


def with_parameters(chart: Chart) -> Chart:
    """Return the chart with a parameter for each control of the page."""
    parameters = [alt.param(name=hidden(field), value=[]) for field in FIELDS]
    changed: Chart = chart.add_params(*parameters, alt.param(name=INTERVALS, value=True))
    return changed


def without_hidden(chart: Chart, **held_by: tuple[str, ...]) -> Chart:
    """Return the chart without the rows that the parameters hide.

    Args:
        held_by: for a field of `FIELDS`, the columns that hold it, if not the one with its name. A column that the data
            lack hides nothing.
    """
    shown = [
        f"indexof({hidden(field)}, datum.{column}) < 0" for field in FIELDS for column in held_by.get(field, (field,))
    ]
    changed: Chart = chart.transform_filter(" && ".join(shown))
    return changed
