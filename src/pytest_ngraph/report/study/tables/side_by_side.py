"""Two runs or two devices, side by side."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.sides import MISSING, NOTE
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def side_by_side(study: Study) -> Table:
    title, sides = "Side by side", study.sides
    if sides is None:
        return Table.of("side_by_side", title, NOTE, pl.DataFrame(), missing=MISSING)
    rows = sides.frame.select(
        *NETWORK,
        *("compiler", "batch_size", "ratio", "ratio_low", "ratio_high", "change"),
        pl.col("first_latency_s").alias(f"{sides.one.name} (s)"),
        pl.col("second_latency_s").alias(f"{sides.other.name} (s)"),
        "reason",
    )
    return Table.of(
        "side_by_side",
        f"{title}: {sides.what}s {sides.one.name} and {sides.other.name}",
        f"Seconds per iteration. {sides.note} {sides.only}".rstrip(),
        rows,
        missing="needs cases that both measured",
    )
