"""The rows behind a figure: those of one metric, named and ordered as people read them, and few enough to be drawn."""

from __future__ import annotations

import altair as alt
import polars as pl
import polars.selectors as cs

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.report.study.columns import SCOPE
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.families import ARCHITECTURES, SIZES

MOST_PANELS = 45
"""The study's fifteen models on three devices."""
WIDEST = 6
"""Panels side by side."""
DECADES = 20
"""Values that differ by more than this factor within one panel get a logarithmic axis."""
DIGITS = 5
"""Significant digits of what is drawn: the page stays small."""

FAMILIES = tuple(dict.fromkeys(model.family for model in ARCHITECTURES.values()))

CELL = ("device", "label", "depth", "width", "precision", "objective", "compiler", "batch_size")
"""The columns that make a case."""
PLACE = pl.concat_str(
    pl.col("device"),
    pl.when(pl.col("precision") == "fp32").then(pl.lit("")).otherwise(pl.format(", {}", "precision")),
    pl.when(pl.col("objective") == "latency").then(pl.lit("")).otherwise(pl.format(", {}", "objective")),
)
"""The device, with precision and objective where these are not the usual ones: only within a place it is compared."""
NETWORK = pl.concat_str(
    pl.col("label"),
    pl.when(pl.col("depth").is_null()).then(pl.lit("")).otherwise(pl.format("-d{}", "depth")),
    pl.when(pl.col("width").is_null()).then(pl.lit("")).otherwise(pl.format("-w{}", "width")),
)
"""The workload with its arguments, depth and width, as in inversions: `conv-d3-w64`."""


def of_metric(study: Study, metric: str) -> pl.DataFrame:
    """The rows of a metric that have a value, `named`."""
    return named(study.metrics.filter(pl.col("metric") == metric, pl.col("value").is_not_null()))


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of cases or metrics with columns `place` and `network`, by place, size, family, depth, width, batch size."""
    sizes = pl.col("size").replace_strict(SIZES, range(len(SIZES)), default=len(SIZES))
    families = pl.col("family").replace_strict(FAMILIES, range(len(FAMILIES)), default=len(FAMILIES))
    placed = rows.with_columns(place=PLACE, network=NETWORK)
    return placed.sort("place", sizes, families, "label", "width", "depth", "batch_size", "compiler")


def of_models(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of whole models."""
    return rows.filter(pl.col("depth").is_null())


def of_blocks(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of stacks of blocks."""
    return rows.filter(pl.col("depth").is_not_null())


def compiled(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of compilers: identity's ratios to itself are one by definition."""
    return rows.filter(pl.col("compiler") != IDENTITY)


def in_panels(rows: pl.DataFrame, template: str, *fields: str) -> pl.DataFrame:
    """Rows with a column `panel`: the template filled from these columns."""
    return rows.with_columns(panel=pl.format(template, *fields))


def fitting(rows: pl.DataFrame, by: str = "panel", most: int = MOST_PANELS) -> tuple[pl.DataFrame, str]:
    """The rows of the `most` panels that have most, in their order, and a sentence on those left out, if any are."""
    panels = rows.group_by(by, maintain_order=True).len()
    if panels.height <= most:
        return rows, ""
    kept = panels.sort("len", descending=True, maintain_order=True).head(most)
    shown = rows.join(kept.select(by), on=by, how="semi", maintain_order="left")
    return shown, f"Drawn are {most} of {panels.height}, those with most cases; records.parquet has all."


def side_by_side(rows: pl.DataFrame, by: str = "family") -> int:
    """How many panels make a row: one for each family. Where all families have all sizes, rows are sizes, as in the
    study's figures."""
    count = rows[by].n_unique()
    return count if 1 < count <= WIDEST else 3


def spans_decades(rows: pl.DataFrame, value: str = "value") -> bool:
    """Whether the positive values of any panel need a logarithmic axis."""
    positive = rows.filter(pl.col(value) > 0, pl.col(value).is_finite())
    ranges = positive.group_by("panel").agg(ratio=pl.col(value).max() / pl.col(value).min())
    return not ranges.filter(pl.col("ratio") >= DECADES).is_empty()


def inlined(rows: pl.DataFrame, *columns: str) -> alt.InlineData:
    """These columns and those of the scope, as data inside a chart. What is not finite becomes empty."""
    wanted = [name for name in dict.fromkeys((*SCOPE, "place", "network", *columns)) if name in rows.columns]
    decimal = cs.float()
    shown = rows.select(wanted).with_columns(
        pl.when(decimal.is_finite()).then(decimal.round_sig_figs(DIGITS)).otherwise(None)
    )
    kinds = {name: _kind(dtype) for name, dtype in shown.schema.items()}
    # As text: a third of the size, and altair copies and validates what is inside a chart many times.
    return alt.InlineData(values=shown.write_csv(), format=alt.CsvDataFormat(type="csv", parse=kinds))


def _kind(dtype: pl.DataType) -> str:
    """What Vega-Lite calls the type of a column."""
    if dtype.is_numeric():
        return "number"
    return "boolean" if dtype == pl.Boolean else "string"
