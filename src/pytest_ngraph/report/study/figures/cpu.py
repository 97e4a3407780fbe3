"""Figure 12: CPU use of compilers, and its reduction against identity."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, in_panels, of_metric, of_models_or_blocks, side_by_side

USE, REDUCTION = "CPU use", "reduction against identity"


def cpu(study: Study) -> Figure:
    figure = Figure(
        name="cpu",
        number="12",
        title="CPU use, and its reduction against identity",
        note="Solid: CPU seconds of the process over wall seconds and logical CPUs. Dashed: 1 - CPU / CPU of identity. "
        "Both in percent: the mean over a family's models; bars run from the least of them to the greatest.",
    )
    rows = _by_family(study)
    if rows.is_empty():
        return figure.without("needs a measured model whose CPU time was recorded")
    shown, left_out = fitting(in_panels(rows, "{} on {}", "family", "place"))
    return figure.drawn(_chart(shown, Palette.of(study)), left_out)


def _by_family(study: Study) -> pl.DataFrame:
    """Return one row per family, compiler, batch size and quantity: mean, least and greatest value of the models."""
    group = ("place", "device", "family", "compiler", "batch_size", "quantity")
    shown = (*group[:-1], "depth", "value")
    use = of_metric(study, "cpu_percent").select(shown).with_columns(quantity=pl.lit(USE))
    reduction = of_metric(study, "cpu_reduction").select(shown)
    reduction = reduction.with_columns(pl.col("value") * 100, quantity=pl.lit(REDUCTION))
    return (
        of_models_or_blocks(pl.concat([use, reduction]))
        .group_by(group, maintain_order=True)
        .agg(value=pl.col("value").mean(), low=pl.col("value").min(), high=pl.col("value").max())
    )


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    dash = alt.StrokeDash("quantity:N", title=None, scale=alt.Scale(domain=[USE, REDUCTION], range=[[1, 0], [4, 3]]))
    x, title = panels.batch_sizes(), "%"
    base = alt.Chart().encode(x=x, color=palette.colour(rows["compiler"]), detail="quantity:N")
    y, low = (panels.axis(field, title) for field in ("value", "low"))
    tooltip = [alt.Tooltip("quantity:N"), *panels.tooltip(rows, title)]
    layers = [
        base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=dash),
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(y=low, y2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            y=y, shape=palette.symbol(rows["compiler"]), tooltip=tooltip
        ),
    ]
    return panels.aligned(layers, rows, ("quantity", "value", "low", "high"), side_by_side(rows))
