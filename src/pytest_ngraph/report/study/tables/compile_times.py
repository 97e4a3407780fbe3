"""Seconds to compile (study, Table III), and the samples after which they are paid back."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.families import SIZES
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def compile_times(study: Study) -> Table:
    compiled = study.cases.filter(pl.col("compile_s").is_not_null(), pl.col("depth").is_null())
    large = compiled.filter(pl.col("size") == SIZES[-1])
    chosen = compiled if large.is_empty() else large
    batch_size, curve = pl.col("batch_size"), [*NETWORK, "compiler"]
    ends = chosen.filter((batch_size == batch_size.min().over(curve)) | (batch_size == batch_size.max().over(curve)))
    arms = pl.concat_str("device", "compiler", separator=" ").alias("arm")
    first = pl.col("row").min().over("label", "width", "sizes", "precision", "objective")
    wide = (
        ends.with_columns(arms)
        .with_row_index("row")
        .sort(first, "batch_size")
        .pivot(
            "arm",
            index=["label", "width", "sizes", "batch_size", "precision", "objective"],
            values="compile_s",
            aggregate_function="first",
            sort_columns=True,
        )
    )
    return Table.of(
        "compile_times",
        "Compile times in seconds",
        "Seconds of converting plus compiling, from the exported program to the first possible iteration, cold. The "
        "study's largest models (all models, where none of these was measured) at their smallest and largest batch "
        "size.",
        wide,
        number="III",
        missing="needs a compiled model (any compiler but identity)",
    )


def break_even(study: Study) -> Table:
    keys = [*NETWORK, "compiler", "batch_size"]
    paid = study.known("break_even")
    costs = study.cases.select("compile_s", "throughput")[study.rows_with("break_even")]
    rows = pl.concat([paid, costs], how="horizontal").select(
        *keys,
        "compile_s",
        pl.col("value").alias("break_even_samples"),
        pl.col("low").alias("break_even_low"),
        pl.col("high").alias("break_even_high"),
        (pl.col("value") / pl.col("throughput")).alias("break_even_s"),
    )
    return Table.of(
        "break_even",
        "When compiling is paid back",
        "Samples after which the seconds of converting plus compiling are won back against identity, compile_s / "
        "(1 / T_identity - 1 / T_c), with its 95 % interval, and the seconds of running that these take; infinite "
        "where the compiler is not faster.",
        rows,
        missing="needs a compiled case and identity at its batch size",
    )
