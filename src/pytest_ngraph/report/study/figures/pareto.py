"""The cost of throughput: memory, and agreement with eager PyTorch."""

from __future__ import annotations

from typing import NamedTuple

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import labels, panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import (
    CELL,
    compiled,
    fitting,
    in_panels,
    of_measured,
    of_metric,
    of_models_or_blocks,
    side_by_side,
    spans_decades,
)

MIB = 2**20


class Cost(NamedTuple):
    """The axis of a cost of throughput.

    Attributes:
        title: with the unit.
        labels: format of its labels, in the syntax of d3.
    """

    title: str
    scale: alt.Scale
    labels: str


NOTE = (
    "Every compiler and batch size of a model: throughput with its 95 % interval over {}. The line joins the points "
    "that no other beats in both (the Pareto front); the numbers at it are batch sizes, where there is room for them."
)
MEMORY = Cost("memory [MiB]", alt.Scale(zero=False), ",.0f")
COLD_START = Cost("cold start [s]", alt.Scale(zero=False), ".2~f")
NEEDS_COSTS = "needs a model measured with --ngraph-serving"


def pareto_memory(study: Study) -> Figure:
    figure = Figure(
        name="pareto_memory",
        title="Throughput against peak memory",
        note=NOTE.format("the resident peak of the process that measures, or the accelerator's where there is one"),
    )
    memory = pl.coalesce("device_memory_bytes", "worker_memory_bytes") / MIB
    return _of_cases(figure, study, memory, MEMORY, "needs a measured model whose memory was recorded")


def pareto_serving(study: Study) -> Figure:
    figure = Figure(
        name="pareto_serving",
        title="Throughput against serving memory",
        note=NOTE.format("the resident memory of a process that only serves it, the median of several launches"),
    )
    return _of_cases(figure, study, pl.col("serving_memory_bytes") / MIB, MEMORY, NEEDS_COSTS)


def pareto_cold_start(study: Study) -> Figure:
    figure = Figure(
        name="pareto_cold_start",
        title="Throughput against cold start",
        note=NOTE.format(
            "the seconds from exec to the first answer of a process that only serves it, the median of several launches"
        ),
    )
    return _of_cases(figure, study, pl.col("cold_start_s"), COLD_START, NEEDS_COSTS)


def pareto_agreement(study: Study) -> Figure:
    figure = Figure(
        name="pareto_agreement",
        title="Throughput multiplier against agreement",
        note="Every compiler and batch size of a model: throughput over that of identity, with its 95 % interval, over "
        "the greatest error of its outputs relative to eager PyTorch in fp32 (less is better). The line joins the "
        "points that no other beats in both; the numbers at it are batch sizes. Outputs without error are not drawn.",
    )
    errors = study.measured.select(*CELL, cost="agreement_error")
    rows = compiled(of_models_or_blocks(of_metric(study, "speedup"))).join(
        errors, on=CELL, how="inner", nulls_equal=True, maintain_order="left"
    )
    rows = rows.filter(pl.col("cost") > 0)
    if rows.is_empty():
        return figure.without("needs a verified model under identity and under another compiler")
    return _drawn(figure, study, rows, Cost("relative error", alt.Scale(type="log"), "~e"), "times identity")


def _of_cases(figure: Figure, study: Study, cost: pl.Expr, axis: Cost, missing: str) -> Figure:
    """Draw throughput over a cost of each case.

    Args:
        missing: what is missing where no case has the cost.
    """
    cases = of_measured(study, *cost.meta.root_names(), "throughput", "throughput_low", "throughput_high")
    rows = of_models_or_blocks(cases).with_columns(
        cost=cost, value="throughput", low="throughput_low", high="throughput_high"
    )
    rows = rows.filter(pl.col("cost").is_not_null())
    return _drawn(figure, study, rows, axis, "samples/s") if rows.height else figure.without(missing)


def _drawn(figure: Figure, study: Study, rows: pl.DataFrame, cost: Cost, value: str) -> Figure:
    shown, left_out = fitting(in_panels(rows, "{} on {}", "network", "place"))
    return figure.drawn(_chart(on_front(shown), Palette.of(study), cost, value), left_out)


def on_front(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with a column `front`: whether no other row of the panel has as much value at less cost."""
    ordered = rows.sort("cost", "value", descending=[False, True], maintain_order=True)
    best_so_far = pl.col("value").cum_max().shift(1).over("panel")
    fronted = ordered.with_columns(front=best_so_far.is_null() | (pl.col("value") > best_so_far))
    order = rows.select("panel").unique(maintain_order=True)
    return order.join(fronted, on="panel", how="left", maintain_order="left_right")


def _chart(rows: pl.DataFrame, palette: Palette, cost: Cost, value: str) -> alt.FacetChart:
    log = spans_decades(rows)
    y, low = (panels.axis(field, value, log=log) for field in ("value", "low"))
    x = alt.X("cost:Q", title=cost.title, scale=cost.scale, axis=alt.Axis(tickCount=3, format=cost.labels))
    base = alt.Chart().encode(x=x)
    compiler = palette.colour(rows["compiler"])
    front = base.transform_filter("datum.front")
    tooltip = [*panels.tooltip(rows, value), alt.Tooltip("cost:Q", title=cost.title, format=".4~g")]
    layers = [
        front.mark_line(interpolate="step-after", strokeWidth=1, opacity=0.5, color="#888888").encode(y=y),
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(y=low, y2="high:Q", color=compiler),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            y=y, color=compiler, shape=palette.symbol(rows["compiler"]), tooltip=tooltip
        ),
        labels.layer(front, y, "batch_size:N"),
    ]
    is_log = cost.scale.to_dict().get("type") == "log"
    drawable = labels.placed(panels.positive(rows) if log else rows, "batch_size", log=(is_log, log))
    return panels.aligned(layers, drawable, ("cost", "value", "low", "high", "front", "side"), side_by_side(rows))
