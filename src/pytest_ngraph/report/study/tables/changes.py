"""Two studies, before and after, compared cell by cell."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table

SIDE = ("latency_s", "throughput_low", "throughput_high")


def changes(study: Study) -> Table:
    return Table.of(
        "changes",
        "Changes since before",
        "Median seconds per iteration before and after. Slower or faster: the 95 % intervals of throughput lie apart. "
        "They cover one process each; for a verdict that holds between runs, use the gate (--ngraph-against).",
        _compared(study),
        missing="needs an earlier store to compare with: --before STORE",
    )


def _compared(study: Study) -> pl.DataFrame:
    """Return a row for each case that was measured before or after; none without earlier runs."""
    measured = study.cases.clear() if study.before.is_empty() else study.measured
    keys = ["case", *NETWORK, "compiler", "batch_size"]
    before = study.before.filter(pl.col("outcome") == "measured").select(*keys, *SIDE)
    after = measured.select(*keys, *SIDE)
    both = before.join(after, on=keys, how="full", nulls_equal=True, coalesce=True, suffix="_after")
    percent = 100 * (pl.col("latency_s_after") / pl.col("latency_s") - 1)
    return both.select(
        *keys[1:],
        pl.col("latency_s").alias("before_latency_s"),
        pl.col("latency_s_after").alias("after_latency_s"),
        percent.alias("change_percent"),
        _change().alias("change"),
    ).sort(pl.col("change_percent").abs(), descending=True, nulls_last=True, maintain_order=True)


def _change() -> pl.Expr:
    return (
        pl.when(pl.col("latency_s").is_null())
        .then(pl.lit("new"))
        .when(pl.col("latency_s_after").is_null())
        .then(pl.lit("missing"))
        .when(pl.col("throughput_high_after") < pl.col("throughput_low"))
        .then(pl.lit("slower"))
        .when(pl.col("throughput_low_after") > pl.col("throughput_high"))
        .then(pl.lit("faster"))
        .otherwise(pl.lit("too close to call"))
    )
