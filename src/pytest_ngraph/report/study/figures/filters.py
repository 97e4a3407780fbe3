"""The page's controls in every chart: they hide intervals, and rows by device, compiler, family and batch size."""

from __future__ import annotations

from typing import TypeVar

import altair as alt

FIELDS = ("device", "compiler", "family", "batch_size")
INTERVALS = "show_intervals"
INTERVAL_OPACITY = alt.ExprRef(f"{INTERVALS} ? 0.8 : 0")

Chart = TypeVar("Chart", alt.LayerChart, alt.FacetChart)


def hidden(field: str) -> str:
    """Return the name of the parameter that holds the hidden values of a field."""
    return f"hidden_{field}"


def filtered(chart: Chart, **held_by: tuple[str, ...]) -> Chart:
    """Return the chart with the parameters and the filters that they control.

    Args:
        held_by: for a field of `FIELDS`, the columns that hold it, if not the one with its name. A column that the data
            lack hides nothing.
    """
    shown = [
        f"indexof({hidden(field)}, datum.{column}) < 0" for field in FIELDS for column in held_by.get(field, (field,))
    ]
    parameters = [alt.param(name=hidden(field), value=[]) for field in FIELDS]
    with_parameters: Chart = chart.add_params(*parameters, alt.param(name=INTERVALS, value=True))
    with_filters: Chart = with_parameters.transform_filter(" && ".join(shown))
    return with_filters
