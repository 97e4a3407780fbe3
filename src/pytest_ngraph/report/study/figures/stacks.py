"""Throughput, cost and memory of stacks of blocks over the size that was varied: depth, width or batch size."""

from __future__ import annotations

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import BLOCKS, in_panels, of_measured, of_metric, where_any

MIB = 2**20
AXES = {"depth": "depth [blocks]", "width": "width", "batch_size": "batch size"}
"""The sizes over which values are drawn, the first that was varied, with the titles of their axes."""
NEEDS = "needs blocks (conv, mha), or a model of your own with a depth"
OVER = "over depth; over width or batch size where only one depth was measured"


def throughput_blocks(study: Study) -> Figure:
    figure = Figure(
        name="throughput_blocks",
        title="Throughput of blocks",
        note=f"Stacks of blocks: batch size over the median seconds per iteration, with 95 % intervals, {OVER}.",
    )
    return _drawn(figure, study, of_metric(study, "throughput", BLOCKS), "samples/s")


def compile_blocks(study: Study) -> Figure:
    figure = Figure(
        name="compile_blocks", title="Seconds to compile blocks", note=f"Stacks of blocks: seconds to compile, {OVER}."
    )
    rows = of_metric(study, "compile_s", BLOCKS)
    return _drawn(figure, study, rows, "seconds", f"{NEEDS}, under a compiler that compiles")


def memory_blocks(study: Study) -> Figure:
    figure = Figure(
        name="memory_blocks",
        title="Peak memory of blocks",
        note="Stacks of blocks: the resident peak of the process that measures, or the accelerator's where there is "
        f"one, {OVER}.",
    )
    memory = pl.coalesce("device_memory_bytes", "worker_memory_bytes") / MIB
    measured = of_measured(study, "device_memory_bytes", "worker_memory_bytes", where=BLOCKS)
    rows = measured.with_columns(value=memory).filter(pl.col("value").is_not_null())
    return _drawn(figure, study, rows.with_columns(low="value", high="value"), "MiB", f"{NEEDS}, with its memory")


def _drawn(figure: Figure, study: Study, rows: pl.DataFrame, title: str, missing: str = NEEDS) -> Figure:
    if rows.is_empty():
        return figure.without(missing)
    axis = next((name for name in AXES if rows[name].drop_nulls().n_unique() > 1), "batch_size")
    parts = [
        where_any(f", {word} {{}}", name)
        for name, word in (("depth", "depth"), ("width", "width"), ("batch_size", "batch"))
        if name != axis
    ]
    rows = rows.with_columns(apart=pl.concat_str(*parts, where_any(", {}", "sizes"))).sort(
        "place", "label", *(name for name in AXES if name != axis), "sizes", axis, maintain_order=True
    )
    rows = in_panels(rows, "{}{} on {}", "label", "apart", "place")
    by = "batch_size" if axis != "batch_size" else "width"
    return panels.drawn(figure, study, rows, panels.steps(axis, AXES[axis]), title, by=by)
