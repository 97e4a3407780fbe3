"""Two runs or two devices, side by side: how many times as fast the second is, case by case."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import dots
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.rows import named
from pytest_ngraph.report.study.sides import MISSING, NOTE

MOST = dots.MOST_NETWORKS
"""Maximum number of cases."""
SCALE = alt.Scale(type="log", nice=False)


def side_by_side(study: Study) -> Figure:
    title, sides = "Side by side", study.sides
    if sides is None:
        return Figure(name="side_by_side", title=title, note=NOTE).without(MISSING)
    title = f"{title}: {sides.what}s {sides.one.name} and {sides.other.name}"
    note = f"{sides.note} Where an interval is missing, the table says why."
    figure = Figure(name="side_by_side", title=title, note=note)
    if sides.frame.is_empty():
        return figure.without("needs cases that both measured")
    drawn = dots.drawn(figure, study, _rows(sides.frame), f"{sides.other.name} / {sides.one.name}", SCALE)
    if sides.frame.height <= MOST:
        return drawn
    assert drawn.chart is not None
    few = f"Only {MOST} of {sides.frame.height} are drawn, those that differ most; the table has all."
    return figure.drawn(drawn.chart, few)


def _rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the cases that differ most, each in a line of its own, the highest ratio first."""
    most = frame.with_columns(distance=pl.col("ratio").log().abs()).top_k(MOST, by="distance")
    case = pl.format("{}  {}  b{}", "network", "compiler", "batch_size")
    return (
        named(most)
        .with_columns(
            network=case,
            panel="place",
            value="ratio",
            low=pl.coalesce("ratio_low", "ratio"),
            high=pl.coalesce("ratio_high", "ratio"),
        )
        .sort("ratio", descending=True, maintain_order=True)
    )
