"""Rank inversions, strongest first (study, Figure 1)."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import Table


def inversions(study: Study) -> Table:
    strength = pl.min_horizontal("before_low", 1 / pl.col("after_high"))
    return Table.of(
        "inversions",
        "Rank inversions",
        "Pairs of workloads of which the first has the higher throughput under the reference and the lower one here: "
        "its throughput over the other's under either, with 95 % intervals that both exclude a tie; the surest first.",
        study.inversions.sort(strength, descending=True, maintain_order=True),
        missing="no order is reversed, or needs two workloads under two compilers or devices",
    )
