"""Two studies, before and after, compared cell by cell."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures.cells import cells
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import CELL, fitting, in_panels, named
from pytest_ngraph.report.study.figures.theme import DIVERGING

LEAST_PERCENT = 10.0
"""The colour scale ends at the greatest change, but not below this: noise must not get strong colours."""
MOST_NETWORKS = 40
"""Maximum number of workloads in one panel."""


def changes(study: Study) -> Figure:
    figure = Figure(
        name="changes",
        title="Throughput since before, cell by cell",
        note="Throughput after over before, minus one, in percent: above zero is faster. The 95 % intervals "
        "before and after overlap where a cell is in brackets. They cover one process each; the gate gives a verdict.",
    )
    if study.before.is_empty():
        return figure.without("needs an earlier store to compare with: --before STORE")
    rows = _compared(study)
    if rows.is_empty():
        return figure.without("needs cases that were measured both before and now")
    fewer, networks_left_out = fitting(in_panels(rows, "{} on {}", "compiler", "place"), "network", MOST_NETWORKS)
    shown, left_out = fitting(fewer)
    extreme = max(LEAST_PERCENT, float(shown.select(pl.col("value").abs().max()).item()))
    scale = alt.Scale(scheme=DIVERGING, domain=[-extreme, extreme], reverse=True)  # type: ignore[arg-type]
    chart = cells(
        shown,
        "network",
        y=alt.Y("network:N", title=None, sort=None),
        colour=alt.Color("value:Q", title="change [%]", scale=scale),
        text=alt.Text("text:N"),
        light_text=f"abs(datum.value) > {0.7 * extreme}",
        title="change [%]",
        columns=3,
    )
    return figure.drawn(chart, " ".join(filter(None, (networks_left_out, left_out))))


def _compared(study: Study) -> pl.DataFrame:
    """Return the cases measured on both sides. Bounds are quotients of the throughputs' bounds: wider than 95 %."""
    before = study.before.filter(pl.col("outcome") == "measured").select(
        *CELL, was="throughput", was_low="throughput_low", was_high="throughput_high"
    )
    both = study.measured.join(before, on=CELL, how="inner", nulls_equal=True, maintain_order="left")
    percent = both.with_columns(
        value=100 * (pl.col("throughput") / pl.col("was") - 1),
        low=100 * (pl.col("throughput_low") / pl.col("was_high") - 1),
        high=100 * (pl.col("throughput_high") / pl.col("was_low") - 1),
    )
    is_distinct = (pl.col("low") > 0) | (pl.col("high") < 0)
    rounded = pl.col("value").round(1).replace(-0.0, 0.0)
    signed = pl.when(rounded > 0).then(pl.format("+{}", rounded)).otherwise(rounded.cast(pl.String))
    return named(percent.with_columns(text=pl.when(is_distinct).then(signed).otherwise(pl.format("({})", signed))))
