"""Scaling with sizes of the user's own: the time of an iteration over such a size."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.columns import text
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import in_panels, of_metric


def sizes(study: Study) -> Figure:
    figure = Figure(
        name="sizes",
        title="Latency over sizes of your own",
        note="Seconds per iteration of each workload at each value of a size of its own, all else being equal, with "
        "95 % intervals. Panels have axes of their own.",
    )
    rows = _along(of_metric(study, "latency_s"))
    rows = in_panels(rows, "{}, batch {}, over {} on {}", "network", "batch_size", "axis", "place")
    rows = rows.filter(pl.col("at").n_unique().over("panel") > 1)
    if rows.is_empty():
        return figure.without("needs a workload at two values of a size of its own")
    rows = rows.sort("panel", "at", "compiler")
    return panels.drawn(figure, study, rows, panels.steps("at", "size"), "seconds", by="axis")


def _along(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each row once for each of its sizes, with the columns `axis` and `at`; `network` has its other sizes."""
    parts = text("sizes").str.split(",")
    own = rows.filter(pl.col("sizes").is_not_null()).with_columns(part=parts).explode("part")
    pair = pl.col("part").str.split("=")
    others = pl.struct("sizes", "part").map_elements(_without, return_dtype=pl.String)
    return own.with_columns(
        axis=pair.list.first(),
        at=pair.list.last().cast(pl.Int64),
        network=text("network").str.strip_suffix(pl.format("-{}", "sizes")) + others,
    )


def _without(row: dict[str, str]) -> str:
    left = [part for part in row["sizes"].split(",") if part != row["part"]]
    return f"-{','.join(left)}" if left else ""
