"""How speedup scales with depth (study, Tables VII and VIII), and throughput with batch size and sizes of one's own."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from pytest_ngraph.report.study.columns import text
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.tables.table import NETWORK, Table


def depth_conv(study: Study) -> Table:
    return _depth(study, "conv", "VII", "Depth scaling of convolutional blocks")


def depth_mha(study: Study) -> Table:
    return _depth(study, "mha", "VIII", "Depth scaling of MHA blocks")


def friction(study: Study) -> Table:
    keys = [*NETWORK, "compiler"]
    return Table.of(
        "friction",
        "Friction as batches grow",
        "The exponent of ASE(b) = b^-friction, fitted in logarithms through ASE(1) = 1: 0 scales perfectly, 1 is "
        "saturated, above 1 batching hurts. Mitigation is identity's friction minus the compiler's. 95 % intervals.",
        _side_by_side(study, ["friction", "friction_mitigation"], keys),
        missing="needs a workload at batch size 1 and another one",
    )


def growth(study: Study) -> Table:
    return Table.of(
        "growth",
        "How time grows with sizes of your own",
        "The exponent of seconds(n) / seconds(n0) = (n / n0)^growth, fitted in logarithms through the smallest size: 1 "
        "is linear, 2 quadratic. Mitigation is identity's growth minus the compiler's. 95 % intervals.",
        _side_by_side(study, ["growth", "growth_mitigation"], ["over", *NETWORK, "compiler", "batch_size"]),
        missing="needs a workload at two values of a size of its own",
    )


def scaling(study: Study) -> Table:
    keys = ["over", *NETWORK, "compiler", "batch_size"]
    return Table.of(
        "scaling",
        "Throughput over sizes of your own",
        "Throughput over that at the smallest size of the axis, all else being equal. 95 % intervals.",
        _side_by_side(study, ["scaling"], keys),
        missing="needs a workload at two values of a size of its own",
    )


def _depth(study: Study, block: str, number: str, title: str) -> Table:
    keys = ["device", "compiler", "width", "batch_size", "precision", "objective"]
    rows = _side_by_side(study, ["depth_slope", "depth_retention"], ["label", *keys])
    own = rows.filter(text("label").str.split(",").list.first() == block)
    return Table.of(
        f"depth_{block}",
        title,
        "Slope: least squares of the speedup over depth. Retention: the speedup of the deepest stack over that of a "
        "single block. 95 % intervals.",
        own if own["label"].ne(block).any() else own.drop("label"),  # shown only if a block has arguments: mha,heads=4
        number=number,
        missing=f"needs {block} at two depths or more under identity and a compiler",
    )


def _side_by_side(study: Study, metrics: Sequence[str], keys: Sequence[str]) -> pl.DataFrame:
    """Return a row for each scope, with each metric's value and interval, and the reason if a metric is absent."""
    rows = study.metric(*metrics)
    sides = rows.select(keys).unique(maintain_order=True)
    for metric in metrics:
        own = rows.filter(pl.col("metric") == metric).select(
            *keys,
            pl.col("value").alias(metric),
            pl.col("low").alias(f"{metric}_low"),
            pl.col("high").alias(f"{metric}_high"),
            pl.col("absent").alias(f"{metric}_absent"),
        )
        sides = sides.join(own, on=list(keys), how="left", nulls_equal=True, maintain_order="left")
    reasons = pl.coalesce(pl.col(f"{metric}_absent").replace("", None) for metric in metrics)
    return sides.with_columns(reasons.fill_null("").alias("absent")).drop(f"{metric}_absent" for metric in metrics)
