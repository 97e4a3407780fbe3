"""The rows behind a figure: those of one metric, named and ordered as shown to users, and few enough to be drawn."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import altair as alt
import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from pytest_ngraph.case import IDENTITY
from pytest_ngraph.report.study.columns import NAME, SCOPE
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.families import ARCHITECTURES, SIZES
from pytest_ngraph.report.study.frames import case_metric

MOST_PANELS = 45
"""Maximum number of panels of a figure: the study's fifteen models on three devices."""
WIDEST = 6
"""Maximum number of panels side by side."""
USUAL = 4
"""Number of panels side by side where the rows do not say how many."""
DECADES = 20
"""Values that differ by more than this factor within one panel get a logarithmic axis."""
COMPARABLE = 0.25
"""Panels share an axis if the values of each would span at least this part of it."""
DIGITS = 5
"""Significant digits of what is drawn, which keeps the page small."""

_ORDERS: WeakKeyDictionary[Study, npt.NDArray[np.intp]] = WeakKeyDictionary()
_NAMES: WeakKeyDictionary[Study, pl.DataFrame] = WeakKeyDictionary()

FAMILIES = tuple(dict.fromkeys(model.family for model in ARCHITECTURES.values()))

EVERY = pl.lit(True)
MEASURED = pl.col("outcome") == "measured"
MODELS, BLOCKS = pl.col("depth").is_null(), pl.col("depth").is_not_null()
COMPILED = pl.col("compiler") != IDENTITY
"""Which cases, for `where`: all; those with a measurement; whole models, stacks of blocks; those of compilers."""
CELL = ("device", "label", "depth", "width", "sizes", "precision", "objective", "compiler", "batch_size")
"""The columns that identify a case."""
PLACE = pl.concat_str(
    pl.col("device"),
    pl.when(pl.col("precision") == "fp32").then(pl.lit("")).otherwise(pl.format(", {}", "precision")),
    pl.when(pl.col("objective") == "latency").then(pl.lit("")).otherwise(pl.format(", {}", "objective")),
).cast(NAME)
"""The device, with precision and objective unless they are fp32 and latency. Only cases of one place are compared."""


IN_PLACE = (
    pl.col("size").replace_strict(SIZES, range(len(SIZES)), default=len(SIZES)),
    pl.col("family").replace_strict(FAMILIES, range(len(FAMILIES)), default=len(FAMILIES)),
    *map(pl.col, ("label", "width", "depth", "sizes", "batch_size", "compiler")),
)
"""By what the cases of a place are sorted."""


def where_any(text: str, column: str) -> pl.Expr:
    """Return the text with a column's value in it; empty where the column has none."""
    return pl.when(pl.col(column).is_null()).then(pl.lit("")).otherwise(pl.format(text, column))


NETWORK = pl.concat_str(
    pl.col("label"), where_any("-d{}", "depth"), where_any("-w{}", "width"), where_any("-{}", "sizes")
).cast(NAME)
"""The workload with its arguments and sizes, as in inversions: `conv-d3-w64`, `bert-seq_len=128`."""


def of_metric(study: Study, metric: str, where: pl.Expr = EVERY) -> pl.DataFrame:
    """Return the rows of a metric that have a value, `named`: those of cases for which `where` is true."""
    column = study.by_case.get(metric)
    if column is None:
        return named(study.known(metric).filter(where))
    order = _order_where(study, where)
    known = order[~np.isnan(column.estimates.values[order])]
    return _with_names(study, case_metric(metric, column, study.cases, known), known)


def of_cases(study: Study, *columns: str, where: pl.Expr = EVERY) -> pl.DataFrame:
    """Return the scope and these columns of cases, `named`. All of their columns would take gigabytes.

    Args:
        where: is true for the cases that are returned. To filter afterwards would have all of them in memory first.
    """
    order = _order_where(study, where)
    return _with_names(study, study.cases.select([*dict.fromkeys((*SCOPE, *columns))])[order], order)


def of_measured(study: Study, *columns: str, where: pl.Expr = EVERY) -> pl.DataFrame:
    """Return the same of the cases that have a measurement."""
    return of_cases(study, *columns, where=where & MEASURED)


def of_each(study: Study, *columns: str) -> pl.DataFrame:
    """Return `place`, `network` and these columns of all cases, in the order of the figures, without the scope."""
    every = [name for name in columns if name not in ("place", "network")]
    return in_order(study, pl.concat([_names(study), study.cases.select(every)], how="horizontal"))


def in_order(study: Study, cases: pl.DataFrame) -> pl.DataFrame:
    """Return what was made of each case of a study, in the order of the figures."""
    return cases[_order(study)]


def _with_names(study: Study, rows: pl.DataFrame, of: npt.NDArray[np.intp]) -> pl.DataFrame:
    """Return the rows with the columns `place` and `network`, of these rows of the cases."""
    return pl.concat([rows, _names(study)[of]], how="horizontal")


def _names(study: Study) -> pl.DataFrame:
    """Return `place` and `network` of the cases, which each figure has."""
    if study not in _NAMES:
        _NAMES[study] = study.cases.select(place=PLACE, network=NETWORK)
    return _NAMES[study]


def _order_where(study: Study, where: pl.Expr) -> npt.NDArray[np.intp]:
    """Return those rows of the cases for which `where` is true, in the order of the figures."""
    order = _order(study)
    if where is EVERY:
        return order
    kept: npt.NDArray[np.bool_] = study.cases.select(kept=where)["kept"].to_numpy()
    return order[kept[order]]


def _order(study: Study) -> npt.NDArray[np.intp]:
    """Return the rows of the cases in the order of the figures, which each of them takes."""
    if study not in _ORDERS:
        _ORDERS[study] = _sorted(pl.concat([study.cases, _names(study)], how="horizontal"))
    return _ORDERS[study]


def _sorted(rows: pl.DataFrame) -> npt.NDArray[np.intp]:
    """Return the rows in the order of the figures. To sort columns of text takes ten times as long as their ranks."""
    ranks = rows.select(pl.col("place").rank("dense"), *(key.rank("dense").fill_null(0) for key in IN_PLACE))
    return np.lexsort([rank.to_numpy() for rank in reversed(ranks.get_columns())])


def named(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows of cases or metrics with the columns `place` and `network`, in the order of the figures."""
    placed = rows.with_columns(place=PLACE, network=NETWORK)
    return placed[_sorted(placed)]


def profiled(study: Study) -> pl.DataFrame:
    """Return the rows of the cases whose time was profiled, `named`."""
    return named(study.cases.filter(pl.col("case").is_in([*study.profiles])))


def of_models(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of whole models."""
    return rows.filter(MODELS)


def of_blocks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of stacks of blocks."""
    return rows.filter(BLOCKS)


def of_models_or_blocks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of whole models; where there are none, those of stacks of blocks."""
    models = of_models(rows)
    return rows if models.is_empty() else models


def compiled(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of compilers without identity, whose ratios to itself are one by definition."""
    return rows.filter(COMPILED)


def in_panels(rows: pl.DataFrame, template: str, *fields: str | pl.Expr) -> pl.DataFrame:
    """Return the rows with a column `panel`: the template filled from these columns."""
    return rows.with_columns(panel=pl.format(template, *fields))


def fitting(rows: pl.DataFrame, by: str = "panel", most: int = MOST_PANELS) -> tuple[pl.DataFrame, str]:
    """Return the rows of the `most` panels with the most rows, in their order, and a sentence on panels left out."""
    panels = rows.group_by(by, maintain_order=True).len()
    if panels.height <= most:
        return rows, ""
    kept = panels.sort("len", descending=True, maintain_order=True).head(most)
    shown = rows.join(kept.select(by), on=by, how="semi", maintain_order="left")
    return shown, f"Only {most} of {panels.height} are drawn, those with the most cases; records.parquet has all."


def side_by_side(rows: pl.DataFrame, by: str = "family") -> int:
    """Return the number of panels in a row: one for each family.

    Where all families have all sizes, each row is then a size, as in the study's figures.
    """
    count = rows[by].n_unique()
    return count if 1 < count <= WIDEST else USUAL


def spans_decades(rows: pl.DataFrame) -> bool:
    """Return whether the positive values of any panel need a logarithmic axis."""
    positive = rows.filter(pl.col("value") > 0, pl.col("value").is_finite())
    ranges = positive.group_by("panel").agg(ratio=pl.col("value").max() / pl.col("value").min())
    return not ranges.filter(pl.col("ratio") >= DECADES).is_empty()


def are_comparable(rows: pl.DataFrame, *, log: bool) -> bool:
    """Return whether several panels can share an axis of values, because none would become flat on it."""
    value = pl.col("value").log() if log else pl.col("value")
    drawable = rows.filter(pl.col("value").is_finite(), pl.lit(not log) | (pl.col("value") > 0))
    spans = drawable.group_by("panel").agg(low=value.min(), high=value.max())
    whole = spans.select(pl.col("high").max() - pl.col("low").min()).item() or 0.0
    least = spans.select((pl.col("high") - pl.col("low")).min()).item() or 0.0
    return spans.height > 1 and least >= COMPARABLE * whole


def inlined(rows: pl.DataFrame, *columns: str) -> alt.InlineData:
    """Return these columns and those of the scope as data inside a chart; infinite values become empty."""
    wanted = [name for name in dict.fromkeys((*SCOPE, "place", "network", *columns)) if name in rows.columns]
    decimal = cs.float()
    shown = rows.select(wanted).with_columns(
        pl.when(decimal.is_finite()).then(decimal.round_sig_figs(DIGITS)).otherwise(None)
    )
    kinds = {name: _kind(dtype) for name, dtype in shown.schema.items()}
    # CSV takes a third of the space, and altair copies and validates all data inside a chart many times.
    return alt.InlineData(values=shown.write_csv(), format=alt.CsvDataFormat(type="csv", parse=kinds))


def _kind(dtype: pl.DataType) -> str:
    """Return Vega-Lite's name for the type of a column."""
    if dtype.is_numeric():
        return "number"
    return "boolean" if dtype == pl.Boolean else "string"
