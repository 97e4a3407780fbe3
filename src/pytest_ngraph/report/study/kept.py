"""The rows of a long run, kept for the next report: to read its records again takes most of the time of a report.

`<store>/outlines/RUN.parquet` follows from the journal, as the outline beside it does, and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.load import Load
from pytest_ngraph.metrics.cells import NO_CALLS, READINGS, Cells, Cost
from pytest_ngraph.report.study import columns
from pytest_ngraph.report.study.record_rows import RecordRows
from pytest_ngraph.stats import Estimate
from pytest_ngraph.store import Outline
from pytest_ngraph.store.lines import unreadable
from pytest_ngraph.store.outline import rows_path
from pytest_ngraph.system.files import write_whole
from pytest_ngraph.system.installed import PACKAGE_FOLDER

WORTH_KEEPING = 1000
"""Records of a run whose rows are kept: fewer are read as quickly."""
STAMP = "pytest_ngraph"
"""Where the file says from which journal it was made, and by which code."""
CODE = ("*.py", "metrics/*.py", "record/*.py", "report/study/*.py", "stats/*.py")
"""The code that makes the rows."""
Texts = dict[int, Any]
"""JSON of few rows, by the row."""


def stamp(outline: Outline) -> str:
    """Return what changes whenever the rows may. Take it before the records are read.

    Raises `StoreError` where the journal is no longer there.
    """
    try:
        status = outline.path.stat()
    except OSError as error:
        raise unreadable(outline.path, error) from error
    places = hashlib.sha256(b"".join(outline.columns[name].tobytes() for name in ("offset", "length"))).hexdigest()
    return json.dumps([_code(), status.st_size, status.st_mtime_ns, places])


def load(outline: Outline) -> RecordRows | None:
    """Return the rows that are kept for a run; None where there are none, or others."""
    path = rows_path(outline.path)
    try:
        if pl.read_parquet_metadata(path).get(STAMP) != stamp(outline):
            return None
        table = pl.read_parquet(path)
        return _rows(table) if table.height == len(outline.ids) else None
    except (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError):
        return None


def save(outline: Outline, rows: RecordRows, taken: str) -> None:
    """Keep the rows of a run, where it is long and the store can be written to.

    Args:
        outline: the run.
        rows: one for each of its records, in their order.
        taken: its `stamp` before they were read.
    """
    if len(outline.ids) < WORTH_KEEPING:
        return
    buffer = io.BytesIO()
    _table(rows).write_parquet(buffer, metadata={STAMP: taken})
    with suppress(StoreError):
        write_whole(rows_path(outline.path), buffer.getvalue())


@cache
def _code() -> str:
    sources = sorted(path for pattern in CODE for path in PACKAGE_FOLDER.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _table(rows: RecordRows) -> pl.DataFrame:
    """Return the rows as one table: the columns of `columns.RECORDS`, and those that `_rows` reads beside them."""
    cells = rows.cells
    return rows.frame.with_columns(
        pl.Series("cells.case", [json.dumps(case.to_dict()) for case in cells.cases], pl.String),
        pl.Series("cells.seed", cells.seeds.astype(np.int64)),
        pl.Series("cells.calls", [calls.tolist() for calls in cells.calls], pl.List(pl.Float64)),
        *(pl.Series(f"cells.{name}", cells.readings[name]) for name in READINGS),
        _texts("cells.costs", cells.costs, rows.frame.height),
        _texts("cells.load", {row: load.to_dict() for row, load in cells.loads.items()}, rows.frame.height),
        _texts("profile", rows.profiles, rows.frame.height),
        pl.Series("conditions", rows.conditions, pl.String),
    )


def _rows(table: pl.DataFrame) -> RecordRows:
    frame = table.select(list(columns.RECORDS))
    flat = table.select("iterations", "elapsed_s").explode("iterations", "elapsed_s").drop_nulls()
    cases = {text: Case.from_dict(json.loads(text)) for text in table["cells.case"].unique()}
    cells = Cells(
        cases=[cases[text] for text in table["cells.case"]],
        sessions=table["session"].to_list(),
        problems=table["reason"].to_list(),
        samples=flat["elapsed_s"].to_numpy() / flat["iterations"].cast(pl.Float64).to_numpy(),
        rounds=table["rounds"].to_numpy().astype(np.intp),
        seeds=table["cells.seed"].to_numpy().astype(np.intp),
        calls=[np.array(calls, dtype=np.float64) if len(calls) else NO_CALLS for calls in table["cells.calls"]],
        readings={name: table[f"cells.{name}"].to_numpy().copy() for name in READINGS},
        costs={row: _costs(own) for row, own in _read(table["cells.costs"]).items()},
        loads={row: Load.from_dict(own) for row, own in _read(table["cells.load"]).items()},
    )
    conditions = {text: text for text in table["conditions"].unique()}  # one text for all rows that have it
    return RecordRows(
        frame=frame,
        cells=cells,
        conditions=[conditions[text] for text in table["conditions"]],
        profiles=_read(table["profile"]),
    )


def _texts(name: str, values: Mapping[int, Any], height: int) -> pl.Series:
    return pl.Series(name, [json.dumps(values[row]) if row in values else None for row in range(height)], pl.String)


def _read(texts: Iterable[str | None]) -> Texts:
    return {row: json.loads(text) for row, text in enumerate(texts) if text is not None}


def _costs(written: Mapping[str, Any]) -> dict[str, Cost]:
    return {name: cost if isinstance(cost, str) else Estimate(*cost) for name, cost in written.items()}
