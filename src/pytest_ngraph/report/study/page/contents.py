"""The content of the page, as plain data for its template."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from pytest_ngraph.report.study.data import Study
from pytest_ngraph.report.study.figures import Figure
from pytest_ngraph.report.study.figures.filters import FIELDS, hidden
from pytest_ngraph.report.study.figures.theme import ON_PAGE
from pytest_ngraph.report.study.tables import Table, display
from pytest_ngraph.wording import counted, listed

FAILURES = "failures"
MOST_ROWS = 500
"""Maximum number of rows of a table; its CSV has the others."""
MOST_CHOICES = 200
"""Maximum number of choices of a control."""
MOST_NAMED = 12
"""Maximum number of names in a line of the page's head."""
LARGEST = sys.float_info.max
HARDWARE = ("processor", "logical CPUs", "memory", "gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table on the page.

    Attributes:
        missing: why it has no rows; else empty.
        cut: how many of its rows are shown, if not all; else empty.
        numeric: for each column, whether it holds numbers.
        rows: for each cell, its text and the value that it is sorted by.
    """

    name: str
    heading: str
    note: str
    missing: str = ""
    cut: str = ""
    headings: list[str] = field(default_factory=list)
    numeric: list[bool] = field(default_factory=list)
    rows: list[list[tuple[str, Any]]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Control:
    """A filter with which the reader hides rows.

    Attributes:
        parameter: the parameter of the charts that it sets.
        number: whether the choices are numbers.
    """

    title: str
    parameter: str
    choices: list[Any]
    number: bool


def summary(study: Study) -> list[tuple[str, str]]:
    """Return what was measured, and on which hardware: terms and texts."""
    cases = study.cases
    outcomes = cases["outcome"].value_counts(sort=True)
    batch_sizes = cases["batch_size"].unique().sort()
    runs = study.records["run"].n_unique()
    return [
        ("cases", f"{cases.height:,}: " + ", ".join(f"{count:,} {outcome}" for outcome, count in outcomes.rows())),
        ("records", f"{study.records.height:,} of {counted(runs, 'run')}"),
        ("workloads", f"{cases['label'].n_unique():,} of {_listed(cases['family'])}"),
        ("compilers", _listed(cases["compiler"])),
        ("batch sizes", _listed(batch_sizes.cast(pl.String))),
        *((f"device {device}", _hardware(study, device)) for device in cases["device"].unique(maintain_order=True)),
    ]


def controls(study: Study) -> list[Control]:
    """Return the filters that have several choices."""
    columns = [study.cases[name].unique().sort() for name in FIELDS]
    return [
        Control(column.name.replace("_", " "), hidden(column.name), column.to_list(), column.dtype.is_numeric())
        for column in columns
        if 1 < len(column) <= MOST_CHOICES
    ]


def drawing(figure: Figure) -> dict[str, Any]:
    """Return a figure for the template; its `spec` is None where data are missing."""
    return {
        "name": figure.name,
        "heading": figure.heading,
        "note": figure.note,
        "missing": figure.missing,
        "left_out": figure.left_out,
        "spec": None if figure.chart is None else figure.spec(ON_PAGE),
    }


def sheet(table: Table) -> Sheet:
    """Return a table for the template, of at most `MOST_ROWS` rows."""
    head = display.filled(table.frame.head(MOST_ROWS))
    shown = display.rows(head)
    cut = f"The first {MOST_ROWS:,} of {table.frame.height:,} rows: tables/{table.name}.csv has all."
    return Sheet(
        name=table.name,
        heading=table.heading,
        note=table.note,
        missing=table.missing,
        cut=cut if table.frame.height > MOST_ROWS else "",
        headings=display.headings(head),
        numeric=list(display.numeric(head)),
        rows=[
            list(zip(texts, map(_order, values), strict=True))
            for texts, values in zip(shown, head.iter_rows(), strict=True)
        ],
    )


def _order(value: object) -> object:
    """Return what a cell is sorted by: a column with infinity in it would be sorted as text."""
    return math.copysign(LARGEST, value) if isinstance(value, float) and math.isinf(value) else value


def environment(study: Study) -> Sheet:
    """Return what the newest run of each device recorded of its machine: a row per fact, a column per device."""
    newest = study.machines.unique(["device", "key"], keep="last", maintain_order=True)
    named = newest.with_columns(device=pl.format("device {}", "device"))  # no identifier: a heading as it is
    wide = named.pivot("device", index="key", values="value")
    return sheet(
        Table.of(
            "environment",
            "Environment",
            "Each fact as of the newest run that recorded it.",
            wide,
            missing="needs a run that recorded its environment",
        )
    )


def _hardware(study: Study, device: str) -> str:
    facts = dict(study.machines.filter(pl.col("device") == device).select("key", "value").rows())
    return ", ".join(f"{facts[key]} {key}" if key == "logical CPUs" else facts[key] for key in HARDWARE if key in facts)


def _listed(values: pl.Series) -> str:
    return listed(values.unique(maintain_order=True).to_list(), MOST_NAMED)
