"""How much longer the slowest calls of each case take than its median call."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import dots
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import CELL, of_metric


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
    return dots.drawn(figure, study, rows, "p99 / p50", alt.Scale(type="log", nice=False))
