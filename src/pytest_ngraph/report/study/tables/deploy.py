"""The compiler to deploy for each workload and device."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table

NETWORK_OF_ANY_OBJECTIVE = [column for column in NETWORK if column != "objective"]


def deploy(study: Study) -> Table:
    one_at_a_time = pl.col("objective") == "latency"
    # Where several iterations run side by side, seconds per iteration are not the latency of one.
    measured = study.measured.with_columns(pl.when(one_at_a_time).then("latency_s").alias("latency_s"))
    smallest = pl.col("batch_size").min().over(NETWORK_OF_ANY_OBJECTIVE)
    alone = measured.filter(one_at_a_time).filter(pl.col("batch_size") == smallest)
    speedups = study.metrics.filter(pl.col("metric") == "speedup").select(
        *NETWORK, "compiler", "batch_size", pl.col("value").alias("speedup")
    )
    choices = pl.concat([_fastest(alone, "lowest latency"), _fastest(measured, "highest throughput")])
    rows = choices.join(
        speedups, on=[*NETWORK, "compiler", "batch_size"], how="left", nulls_equal=True, maintain_order="left"
    ).select("device", "goal", pl.exclude("device", "goal"))
    return Table.of(
        "deploy",
        "Which should I deploy?",
        "For each workload and device the compiler with the lowest latency at the smallest batch size, and the "
        "compiler and batch size with the highest throughput, among cases whose outputs agree with eager PyTorch. "
        "Sure: its 95 % interval lies above that of every other compiler's best.",
        rows.sort("device", "goal", "label", "depth", "width", "sizes"),
        missing="needs a measured case",
    )


def _fastest(measured: pl.DataFrame, goal: str) -> pl.DataFrame:
    """Return each network's case with the highest throughput, and the best other compiler.

    At a single batch size, that is also the case with the lowest latency.
    """
    best_of_each = measured.sort("throughput", descending=True, maintain_order=True).unique(
        [*NETWORK_OF_ANY_OBJECTIVE, "compiler"], keep="first", maintain_order=True
    )
    others_high = pl.col("throughput_high").slice(1)
    return best_of_each.group_by(NETWORK_OF_ANY_OBJECTIVE, maintain_order=True).agg(
        pl.lit(goal).alias("goal"),
        pl.col("compiler", "batch_size", "objective", "latency_s", "throughput").first(),
        pl.col("compiler").get(1, null_on_oob=True).alias("runner_up"),
        # With too few rounds, a bound is unknown; then nothing is sure.
        ((pl.len() > 1) & (pl.col("throughput_low").first() > others_high.max()) & others_high.is_not_null().all())
        .fill_null(False)
        .alias("sure"),
        pl.col("stable", "compile_s", "peak_memory_bytes", "agreement_error").first(),
    )
