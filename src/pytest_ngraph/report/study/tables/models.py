"""Specifications of the workloads: models and blocks (study, Tables IV and V)."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.families import ARCHITECTURES, architecture
from pytest_ngraph.report.study.tables.table import Table

COUNTS = ("parameters", "mult_adds", "flops")


def architectures(study: Study) -> Table:
    cases = study.cases.select("label", "width", "sizes", "style", "depth", *COUNTS)
    models = cases.filter(pl.col("depth").is_null(), pl.any_horizontal(pl.col(COUNTS).is_not_null()))
    counted = models.group_by("label", "width", "sizes", maintain_order=True).agg(
        pl.col("style").first(), *(pl.col(count).drop_nulls().first() for count in COUNTS)
    )
    names = [architecture(label).name for label in counted["label"]]
    places = {known.name: place for place, known in enumerate(ARCHITECTURES.values())}
    rows = counted.with_columns(
        pl.Series("architecture", names, pl.String),
        pl.Series("place", [places.get(name, len(places)) for name in names], pl.Int64),
    ).sort("place", maintain_order=True)
    return Table.of(
        "architectures",
        "Network architecture specifications",
        "Of one sample. MACs are counted by torchinfo, which omits attention; FLOPs by PyTorch, which includes it. "
        "The study's images are 224 pixels wide; without img_size=224, timm's EfficientNets take larger ones.",
        rows.select(
            "architecture", "style", "parameters", pl.col("mult_adds").alias("macs"), "flops", "label", "width", "sizes"
        ),
        number="IV",
        missing="needs a model whose operations were counted",
    )


def blocks(study: Study) -> Table:
    cases = study.cases.select("label", "width", "sizes", "style", "depth", *COUNTS)
    depths = cases.filter(pl.col("depth").is_not_null(), pl.col("parameters").is_not_null())
    stacks = depths.group_by("label", "width", "sizes", maintain_order=True).agg(
        pl.col("style").first(),
        pl.col("depth").n_unique().alias("depths"),
        *(_per_block(count).alias(f"{count}_per_block") for count in COUNTS),
    )
    rows = stacks.filter(pl.col("depths") > 1).sort("label", "width", "sizes")
    return Table.of(
        "blocks",
        "Per-block specifications",
        "What one more block adds: the difference between the deepest and the shallowest stack over that of their "
        "depths.",
        rows.select(
            pl.col("label").alias("block"), "style", "width", "sizes", *(f"{count}_per_block" for count in COUNTS)
        ),
        number="V",
        missing="needs conv or mha at two depths or more",
    )


def _per_block(count: str) -> pl.Expr:
    by_depth = pl.col(count).sort_by("depth")
    depths = pl.col("depth").max() - pl.col("depth").min()
    return (by_depth.last() - by_depth.first()) // depths
