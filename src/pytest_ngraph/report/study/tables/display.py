"""A table's cells and headings as shown to users, before any format escapes them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from pytest_ngraph.metrics.text import number, quantity

UNITS = {"_s": "s", "_percent": "%", "_bytes": "", "_samples": "samples"}
"""The unit for each suffix of a column's name. Bytes are scaled, so each cell names its own unit."""
THROUGHPUT = ("throughput", "throughput_sd")
GROUPED = 10_000
"""Whole numbers from here on have thousands separators."""


def headings(frame: pl.DataFrame) -> list[str]:
    """Return the columns' names, with their units."""
    return [_heading(name) for name in frame.columns]


def rows(frame: pl.DataFrame) -> list[list[str]]:
    """Return the cells of each row; empty where there is no value."""
    return [[_cell(name, value) for name, value in zip(frame.columns, row, strict=True)] for row in frame.iter_rows()]


def filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame without its empty columns."""
    return frame.select(name for name in frame.columns if not set(frame[name].unique()) <= {None, ""})


def numeric(frame: pl.DataFrame) -> Sequence[bool]:
    """Return for each column whether it holds numbers."""
    return [dtype.is_numeric() for dtype in frame.dtypes]


def _heading(name: str) -> str:
    if not name.isidentifier():  # made of a device and a compiler: `xeon tensorrt_rtx`
        return name
    if name in THROUGHPUT:
        return f"{name.replace('_', ' ')} (samples/s)"
    for suffix, unit in UNITS.items():
        if name.endswith(suffix):
            return name.removesuffix(suffix).replace("_", " ") + (f" ({unit})" if unit else "")
    return name.replace("_", " ")


def _cell(name: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        if name.endswith("_bytes"):
            return quantity(value, "B")
        return f"{value:,}" if abs(value) >= GROUPED else str(value)
    if isinstance(value, float):
        return number(value) if math.isfinite(value) else "infinite"
    return str(value)
