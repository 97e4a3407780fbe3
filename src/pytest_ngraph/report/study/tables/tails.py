"""How slow the slowest calls are."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.metrics.percentiles import PERCENTILES
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table

CASE = [*NETWORK, "compiler", "batch_size"]


def tails(study: Study) -> Table:
    return Table.of(
        "tails",
        "How slow are the slowest calls?",
        "Percentiles of single calls that were timed one by one: 99 in 100 calls take no longer than p99. Its 95 % "
        "interval has no upper end where too many of the calls may be slower. Tail: p99 over p50.",
        percentiles(study).sort("tail", "p95_s", descending=True, nulls_last=True, maintain_order=True),
        missing="needs single calls: --ngraph-tails times them",
    )


def percentiles(study: Study) -> pl.DataFrame:
    """Return a row for each case with a percentile: all of them, the interval of p99, and the tail."""
    known = study.known(*PERCENTILES)
    rows = known.select(CASE).unique(maintain_order=True)
    for name in PERCENTILES:
        own = known.filter(pl.col("metric") == name).select(
            *CASE,
            pl.col("value").alias(name),
            *([pl.col("low").alias("p99_low_s"), pl.col("high").alias("p99_high_s")] if name == "p99_s" else []),
        )
        rows = rows.join(own, on=CASE, how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(tail=pl.col("p99_s") / pl.col("p50_s"))
