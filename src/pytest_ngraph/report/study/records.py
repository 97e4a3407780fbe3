"""Every record and every raw sample, for the user's own tools."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from pytest_ngraph.report.study.columns import SCOPE
from pytest_ngraph.report.study.data import Study

ROUND = ("run", *SCOPE, "round", "iterations", "elapsed_s")
"""The columns of `records.csv`."""
AT_ONCE = 5_000
"""Records expanded to rounds at a time, to save memory: each becomes tens of rows."""


def write(study: Study, folder: Path) -> list[Path]:
    """Write `records.parquet`, a row for each record with its rounds as lists, and `records.csv`, a row for each round.

    A record without rounds is only in the first. Return the files.
    """
    parquet, csv = folder / "records.parquet", folder / "records.csv"
    study.records.write_parquet(parquet)
    with csv.open("wb") as file:
        for begin in range(0, max(1, study.records.height), AT_ONCE):
            _rounds(study.records.slice(begin, AT_ONCE)).write_csv(file, include_header=begin == 0)
    return [parquet, csv]


def _rounds(records: pl.DataFrame) -> pl.DataFrame:
    numbered = records.filter(pl.col("rounds") > 0).with_columns(
        pl.int_ranges(1, pl.col("rounds") + 1).alias("round"),
    )
    return numbered.select(ROUND).explode("round", "iterations", "elapsed_s")
