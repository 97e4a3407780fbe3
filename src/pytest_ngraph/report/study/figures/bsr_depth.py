"""Figure 11: batch scaling resilience of stacks of blocks."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import BLOCKS, COMPILED, in_panels, of_metric


def bsr_depth(study: Study) -> Figure:
    figure = Figure(
        name="bsr_depth",
        number="11",
        title="Batch scaling resilience of blocks, by depth",
        note="BSR of stacked blocks at the least, the middle and the greatest depth, with 95 % intervals; above the "
        "dashed line the compiler keeps more efficiency than identity as batches grow.",
    )
    rows = of_metric(study, "bsr", BLOCKS & COMPILED)
    rows = rows.filter((pl.col("batch_size") > 1).any().over("place", "network"))
    if rows.is_empty():
        return figure.without(
            "needs blocks (conv, mha) under identity and another compiler, both at batch size 1 and at another one"
        )
    rows = _three_depths(rows).sort("place", "label", "width", "depth", maintain_order=True)
    panelled = in_panels(rows, "{} on {}", "network", "place")
    return panels.drawn(figure, study, panelled, panels.batch_sizes(), "BSR", by="depth", reference=1)


def _three_depths(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows at the least, the middle and the greatest depth of each stack."""
    depth, stack = pl.col("depth"), ("place", "label", "width", "sizes")
    middle = depth.unique().sort().get(depth.n_unique() // 2)
    chosen = (depth == depth.min().over(stack)) | (depth == middle.over(stack)) | (depth == depth.max().over(stack))
    return rows.filter(chosen)
