"""Throughput and CPU by family (study, Table VI)."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import Table

RANGES = {"2-4": (2, 4), "8-16": (8, 16)}
"""The ranges of batch sizes over which the study takes means, ends included."""


def families(study: Study) -> Table:
    cells = _in_ranges(study.cases.with_columns(throughput_sd=study.deviations))
    measured_cpu = pl.col("cpu_percent").filter(pl.col("outcome") == "measured")
    means = cells.group_by(
        "family", "device", "compiler", "batch_sizes", "precision", "objective", maintain_order=True
    ).agg(
        pl.col("throughput").mean(),
        pl.col("throughput_sd").pow(2).mean().sqrt(),
        measured_cpu.mean(),
        measured_cpu.std().alias("cpu_percent_sd"),
        pl.col("throughput").count().alias("cells"),
        pl.len().alias("cells_asked_for"),
    )
    return Table.of(
        "families",
        "Aggregated results by architectural family",
        "Means over a family's models and batch sizes. The deviation of throughput is that of rounds (root mean square "
        "over cells), that of CPU is between cells, each of which is read once. Where there are fewer cells than were "
        "asked for, the others failed or were skipped, so the mean is over fewer models.",
        means.filter(pl.col("cells") > 0).sort("family", "device", "compiler", maintain_order=True),
        number="VI",
        missing="needs a model measured at a batch size from 2 to 4 or from 8 to 16",
    )


def _in_ranges(cases: pl.DataFrame) -> pl.DataFrame:
    """Return the models' cases, failed ones included, at the batch sizes of a range, which is in an extra column."""
    batch_sizes = pl.lit(None, pl.String)
    for name, ends in RANGES.items():
        batch_sizes = pl.when(pl.col("batch_size").is_between(*ends)).then(pl.lit(name)).otherwise(batch_sizes)
    models = cases.filter(pl.col("depth").is_null()).with_columns(batch_sizes.alias("batch_sizes"))
    return models.filter(pl.col("batch_sizes").is_not_null())
