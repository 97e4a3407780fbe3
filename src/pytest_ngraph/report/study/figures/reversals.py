"""Figure 1: compiling reverses which of two models is faster."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.inversions import BOTH_SIDES, PAIR, by_compiling, strongest_first
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import MODELS, of_measured

MOST = 6
TITLE = "samples/s"


def reversals(study: Study) -> Figure:
    figure = Figure(
        name="reversals",
        number="1",
        title="Compiling reverses which model is faster",
        note="The strongest reversals on one device, each at the batch size where it is strongest: throughput of both "
        "models under identity and under the compiler, with 95 % intervals; those of both ratios exclude a tie.",
    )
    models = of_measured(study, where=MODELS)["network"].unique().implode()
    both_models = pl.col("workload_a").is_in(models) & pl.col("workload_b").is_in(models)
    reversed_pairs = strongest_first(by_compiling(study.inversions).filter(both_models))
    pairs = reversed_pairs.unique(PAIR, keep="first", maintain_order=True)
    if pairs.is_empty():
        return figure.without("no two models change places beyond doubt; needs two under identity and a compiler")
    left_out = (
        f"Only {MOST} of {pairs.height} are drawn; the table of inversions has all." if pairs.height > MOST else ""
    )
    return figure.drawn(_chart(_bars(study, pairs.head(MOST)), Palette.of(study)), left_out)


def _bars(study: Study, pairs: pl.DataFrame) -> pl.DataFrame:
    """Return four rows per pair: both workloads under identity, then both under the compiler."""
    sides = [
        pairs.with_columns(
            order=2 * arm + side,
            rank=pl.int_range(pl.len()),
            network=workload,
            bar_compiler=compiler,
            bar=pl.format("{}, {}", workload, compiler),
        )
        for arm, compiler in enumerate(("reference_compiler", "compiler"))
        for side, workload in enumerate(("workload_a", "workload_b"))
    ]
    measured = of_measured(study, "throughput", "throughput_low", "throughput_high").select(
        "device", "network", "batch_size", "precision", "objective", "place",
        bar_compiler="compiler", value="throughput", low="throughput_low", high="throughput_high",
    )  # fmt: skip
    case = ["device", "network", "batch_size", "precision", "objective", "bar_compiler"]
    bars = pl.concat(sides).join(measured, on=case, how="inner").sort("rank", "order")
    return bars.with_columns(panel=pl.format("{}. batch {} on {}", pl.col("rank") + 1, "batch_size", "place"))


def _chart(bars: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    base = alt.Chart().encode(y=alt.Y("bar:N", title=None, sort=None, axis=alt.Axis(labelLimit=220)))
    x, low = (alt.X(f"{field}:Q", title=TITLE, axis=alt.Axis(tickCount=4)) for field in ("value", "low"))
    tooltip = [
        alt.Tooltip("network:N", title="workload"),
        alt.Tooltip("bar_compiler:N", title="compiler"),
        *panels.numbers(TITLE),
    ]
    layers = [
        base.mark_bar().encode(x=x, color=palette.colour(bars["bar_compiler"], "bar_compiler"), tooltip=tooltip),
        base.mark_rule(opacity=INTERVAL_OPACITY, strokeWidth=2).encode(x=low, x2="high:Q"),
    ]
    fields = ("reference_device", "reference_compiler", "bar", "bar_compiler", "value", "low", "high")
    panel = alt.layer(*layers).properties(width=panels.WIDTH, height=panels.HEIGHT)
    return panels.in_a_grid(panel, bars, fields, 2, **BOTH_SIDES)
