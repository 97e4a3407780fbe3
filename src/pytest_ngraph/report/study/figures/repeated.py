"""Time per block of a stack over its depth: whether compilers use that the blocks are equal."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.explain.blocks import seconds_of_blocks
from pytest_ngraph.explain.explanation import SLOWED
from pytest_ngraph.explain.parts import names_modules
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import fitting, in_panels, of_blocks, profiled, side_by_side, where_any

BLOCK, CALL = "in a block", "whole call over depth"


def repeated(study: Study) -> Figure:
    figure = Figure(
        name="repeated",
        title="Time per block over depth",
        note="Solid: the mean time of a block in its own kernels; bars run from the fastest block of the stack to the "
        "slowest. Dashed: the time of the whole call over the depth. Where the dashed curve alone falls, deeper stacks "
        "only share what is paid once, such as layout changes; where the solid one falls too, the compiler uses the "
        "repeated pattern. There is no solid curve where kernels do not show the blocks, or where the profiler slows "
        "the model down.",
    )
    rows = _rows(study)
    if rows.is_empty():
        return figure.without("needs blocks (conv, mha) at two depths or more, profiled with --ngraph-explain")
    shown, left_out = fitting(rows)
    return figure.drawn(_chart(shown, Palette.of(study)), left_out)


def _rows(study: Study) -> pl.DataFrame:
    """Return a row for each case and quantity."""
    width, sizes = where_any(", width {}", "width"), where_any(", {}", "sizes")
    cases = of_blocks(profiled(study))
    cases = in_panels(cases, "{}{}{}, batch {} on {}", "label", width, sizes, "batch_size", "place")
    cases = cases.filter(pl.col("depth").n_unique().over("panel") > 1)
    found = [row for case, depth in cases.select("case", "depth").rows() for row in _quantities(study, case, depth)]
    kinds: dict[str, type[pl.DataType]] = {"case": pl.String, "quantity": pl.String}
    kinds |= dict.fromkeys(("value", "low", "high"), pl.Float64)
    return cases.join(pl.DataFrame(found, schema=kinds, orient="row"), on="case", maintain_order="left")


def _quantities(study: Study, case: str, depth: int) -> list[tuple[str, str, float, float | None, float | None]]:
    kept = study.profiles[case]
    call = 1e3 * kept.latency_s / depth
    found: list[tuple[str, str, float, float | None, float | None]] = [(case, CALL, call, None, None)]
    is_faithful = names_modules(kept) and kept.coverage <= SLOWED
    blocks = [1e3 * seconds for seconds in seconds_of_blocks(kept, depth)] if is_faithful else []
    if blocks:
        found.append((case, BLOCK, sum(blocks) / depth, min(blocks), max(blocks)))
    return found


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.FacetChart:
    dash = alt.StrokeDash("quantity:N", title=None, scale=alt.Scale(domain=[BLOCK, CALL], range=[[1, 0], [4, 3]]))
    title = "ms per block"
    base = alt.Chart().encode(
        x=panels.steps("depth", "depth [blocks]"), color=palette.colour(rows["compiler"]), detail="quantity:N"
    )
    y, low = (panels.axis(field, title) for field in ("value", "low"))
    tooltip = [
        alt.Tooltip("quantity:N"),
        *panels.scope(rows),
        alt.Tooltip("depth:N"),
        alt.Tooltip("value:Q", title=title, format=".4~g"),
        alt.Tooltip("low:Q", title="fastest block", format=".4~g"),
        alt.Tooltip("high:Q", title="slowest block", format=".4~g"),
    ]
    layers = [
        base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=dash),
        base.mark_rule(opacity=INTERVAL_OPACITY).encode(y=low, y2="high:Q"),
        base.mark_point(filled=True, size=32, opacity=1).encode(
            y=y, shape=palette.symbol(rows["compiler"]), tooltip=tooltip
        ),
    ]
    columns = side_by_side(rows, by="batch_size")
    return panels.aligned(layers, rows, ("depth", "quantity", "value", "low", "high"), columns)
