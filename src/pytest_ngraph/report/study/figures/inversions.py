"""Pairs of workloads of which the faster one depends on the compiler or the device, the strongest first."""

from __future__ import annotations

import altair as alt
import polars as pl

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import panels
from pytest_ngraph.report.study.figures.figure import Figure
from pytest_ngraph.report.study.figures.filters import INTERVAL_OPACITY, filtered
from pytest_ngraph.report.study.figures.palette import Palette
from pytest_ngraph.report.study.figures.rows import PLACE, inlined

PAIR = (
    "workload_a",
    "workload_b",
    "reference_device",
    "reference_compiler",
    "device",
    "compiler",
    "precision",
    "objective",
)
"""The columns that an inversion at several batch sizes has in common."""
MOST = 30
STEP = 26
"""Pixels per pair."""
LINE = "; "
"""Separates the two lines of a pair's name."""
LONGEST = 400
"""Maximum number of pixels of a line of a pair's name; the rest is cut."""
TITLE = ("throughput of the first", "over the second")
"""Lines of the title of the axis."""
AXIS = alt.Axis(format="~g", tickCount=6, titleAnchor="end")
BOTH_SIDES = {"device": ("device", "reference_device"), "compiler": ("compiler", "reference_compiler")}
"""The columns of an inversion for each field that the page filters by."""


def strongest_first(inversions: pl.DataFrame) -> pl.DataFrame:
    """Return inversions sorted by how far the weaker of their two intervals is from a tie, as a factor."""
    strength = pl.min_horizontal(pl.col("before_low").log(), -pl.col("after_high").log())
    return inversions.sort(strength, descending=True, maintain_order=True)


def by_compiling(inversions: pl.DataFrame) -> pl.DataFrame:
    """Return the inversions that a compiler causes on one device, against identity."""
    same_device = pl.col("device") == pl.col("reference_device")
    return inversions.filter(same_device, pl.col("reference_compiler") == IDENTITY)


def inversions(study: Study) -> Figure:
    figure = Figure(
        name="inversions",
        title="Rank inversions between compilers and devices",
        note="Pairs of workloads whose order reverses: the ratio of their throughputs under two compilers or on two "
        "devices, with 95 % intervals that exclude a tie (dashed). Each at the batch size where it is strongest, and "
        "the strongest first.",
    )
    rows = strongest_first(study.inversions).unique(PAIR, keep="first", maintain_order=True)
    if rows.is_empty():
        return figure.without("no two workloads change places beyond doubt; needs two under two compilers or devices")
    left_out = f"Only {MOST} of {rows.height} are drawn, the strongest." if rows.height > MOST else ""
    return figure.drawn(_chart(_both_ends(rows.head(MOST)), Palette.of(study)), left_out)


def _both_ends(rows: pl.DataFrame) -> pl.DataFrame:
    """Return two rows per inversion: under the reference, and where the order is reversed."""
    arms = (
        pl.when(pl.col("device") == pl.col("reference_device"))
        .then(pl.format("{} → {} on {}", "reference_compiler", "compiler", "device"))
        .otherwise(pl.format("{} on {} → {} on {}", "reference_compiler", "reference_device", "compiler", "device"))
    )
    labelled = rows.with_columns(
        place=PLACE,
        pair=pl.format(f"{{}} : {{}}, batch {{}}{LINE}{{}}", "workload_a", "workload_b", "batch_size", arms),
    )
    ends = [
        labelled.with_columns(
            end_compiler=compiler, end_device=device, value=ratio, low=f"{ratio}_low", high=f"{ratio}_high"
        )
        for compiler, device, ratio in (
            ("reference_compiler", "reference_device", "before"),
            ("compiler", "device", "after"),
        )
    ]
    return pl.concat(ends)


def _chart(rows: pl.DataFrame, palette: Palette) -> alt.LayerChart:
    base = alt.Chart().encode(
        y=alt.Y(
            "pair:N",
            title=None,
            sort=None,
            axis=alt.Axis(labelLimit=LONGEST, labelExpr=f"split(datum.label, '{LINE}')"),
        )
    )
    colour = palette.colour(rows["end_compiler"], "end_compiler")
    x, low = (
        alt.X(f"{field}:Q", title=list(TITLE), scale=alt.Scale(type="log"), axis=AXIS) for field in ("value", "low")
    )
    tooltip = [
        alt.Tooltip("pair:N"),
        alt.Tooltip("end_compiler:N", title="compiler"),
        alt.Tooltip("end_device:N", title="device"),
        *panels.numbers(" ".join(TITLE)),
    ]
    tie = alt.Chart(panels.NOTHING).mark_rule(strokeDash=[3, 3], opacity=0.6).encode(x=alt.datum(1))
    layers = [
        tie,
        base.mark_line(color="#888888", opacity=0.5, strokeWidth=1.5).encode(x=x, detail="pair:N"),
        base.mark_rule(opacity=INTERVAL_OPACITY, strokeWidth=1.5).encode(x=low, x2="high:Q", color=colour),
        base.mark_point(filled=True, size=40, opacity=1).encode(
            x=x, color=colour, shape=palette.symbol(rows["end_compiler"], "end_compiler"), tooltip=tooltip
        ),
    ]
    columns = ("reference_device", "reference_compiler", "pair", "end_compiler", "end_device", "value", "low", "high")
    chart = alt.LayerChart(layer=layers, data=inlined(rows, *columns), width=2 * panels.WIDTH, height=alt.Step(STEP))
    return filtered(chart, **BOTH_SIDES)
