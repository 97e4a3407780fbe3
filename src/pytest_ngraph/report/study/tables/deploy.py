"""The compiler to deploy for each workload and device."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.metrics.between import Between
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.sure import RATES, is_sure, pair_in_words
from pytest_ngraph.report.study.tables.table import NETWORK, Table

NETWORK_OF_ANY_OBJECTIVE = [column for column in NETWORK if column != "objective"]
COSTS = ("cold_start_s", "serving_memory_bytes", "artifact_bytes", "install_bytes")


def deploy(study: Study) -> Table:
    one_at_a_time = pl.col("objective") == "latency"
    # Where several iterations run side by side, seconds per iteration are not the latency of one.
    measured = study.measured.with_columns(pl.when(one_at_a_time).then("latency_s").alias("latency_s"))
    smallest = pl.col("batch_size").min().over(NETWORK_OF_ANY_OBJECTIVE)
    alone = measured.filter(one_at_a_time).filter(pl.col("batch_size") == smallest)
    speedups = study.metrics.filter(pl.col("metric") == "speedup").select(
        *NETWORK, "compiler", "batch_size", pl.col("value").alias("speedup")
    )
    choices = pl.concat(
        [_fastest(alone, "lowest latency", study.between), _fastest(measured, "highest throughput", study.between)]
    )
    rows = choices.join(
        speedups, on=[*NETWORK, "compiler", "batch_size"], how="left", nulls_equal=True, maintain_order="left"
    ).select("device", "goal", pl.exclude("device", "goal"))
    return Table.of(
        "deploy",
        "Which should I deploy?",
        "For each workload and device the compiler with the lowest latency at the smallest batch size, and the "
        "compiler and batch size with the highest throughput, among cases whose outputs agree with eager PyTorch. "
        "Sure: it would also be faster than every other compiler's best in other processes; at most 5 in 100 rows that "
        f"are called so are wrong. Processes of the same code differ by {pair_in_words(study.between)}. Cold start, "
        "serving memory, artifact and install: of a process that only serves, where --ngraph-serving was given.",
        rows.sort("device", "goal", "label", "depth", "width", "sizes"),
        missing="needs a measured case",
    )


def _fastest(measured: pl.DataFrame, goal: str, between: Between) -> pl.DataFrame:
    """Return each network's case with the highest throughput, and the best other compiler.

    At a single batch size, that is also the case with the lowest latency.
    """
    best_of_each = measured.sort("throughput", descending=True, maintain_order=True).unique(
        [*NETWORK_OF_ANY_OBJECTIVE, "compiler"], keep="first", maintain_order=True
    )
    found = best_of_each.group_by(NETWORK_OF_ANY_OBJECTIVE, maintain_order=True).agg(
        pl.lit(goal).alias("goal"),
        pl.col("compiler", "batch_size", "objective", "latency_s", "throughput").first(),
        pl.col("compiler").get(1, null_on_oob=True).alias("runner_up"),
        RATES.alias("sure"),
        pl.col("stable", "compile_s", "worker_memory_bytes", *COSTS, "agreement_error").first(),
    )
    sure = [is_sure(rates, between) for rates in found["sure"].to_list()]
    return found.with_columns(pl.Series("sure", sure, dtype=pl.Boolean))
