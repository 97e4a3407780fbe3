"""Rows of records as one table, which a file can keep, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import polars as pl

from pytest_ngraph.case import Case
from pytest_ngraph.load import Load
from pytest_ngraph.metrics.cells import NO_CALLS, READINGS, Cells, Cost
from pytest_ngraph.report.study import columns
from pytest_ngraph.report.study.record_rows import RecordRows
from pytest_ngraph.report.study.rounds import Rounds
from pytest_ngraph.stats import Estimate

IN_FRAME = ("workload", "compiler", "batch_size", "depth", "width", "precision", "objective", "device")
"""The fields of a case that `columns.RECORDS` has as they are."""
REST = ("sizes", "model_args", "shapes", "inputs", "scored_by")
"""Its other fields, which few cases have."""


def table(rows: RecordRows, places: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Return the rows as one table: the columns of `columns.RECORDS` and `columns.ROUNDS`, and others for `rows_of`.

    Args:
        rows: at least one.
        places: offset and length of each record in its journal.
    """
    cells, height = rows.cells, rows.frame.height
    rests = {row: rest for row, case in enumerate(cells.cases) if (rest := _rest(case))}
    calls = {row: own.tolist() for row, own in enumerate(cells.calls) if len(own)}
    beside = [
        *pl.DataFrame(places, schema={"offset": pl.Int64, "length": pl.Int64}, orient="row").iter_columns(),
        rows.deviations.alias("deviation"),
        pl.Series("conditions", rows.conditions, pl.String),
        pl.Series("cells.seed", cells.seeds.astype(np.int64)),
        *(pl.Series(f"cells.{name}", cells.readings[name]) for name in READINGS),
        _texts("cells.rest", rests, height),
        _texts("cells.calls", calls, height),
        _texts("cells.costs", cells.costs, height),
        _texts("cells.load", {row: load.to_dict() for row, load in cells.loads.items()}, height),
        _texts("profile", rows.profiles, height),
    ]
    rounds = pl.concat(rows.rounds.frames(height))
    return pl.concat([rows.frame, rounds, pl.DataFrame(beside)], how="horizontal")


def rows_of(found: pl.DataFrame, rounds: Rounds) -> RecordRows:
    """Return the rows of a table. Raises `PolarsError`, `ValueError`, `KeyError` or `TypeError` where it is another.

    Args:
        found: as from `table`.
        rounds: where its rounds are.
    """
    flat = found.select(list(columns.ROUNDS)).explode(list(columns.ROUNDS)).drop_nulls()
    cells = Cells(
        cases=_cases(found),
        sessions=_shared(found["session"]),
        problems=_shared(found["reason"]),
        samples=flat["elapsed_s"].to_numpy() / flat["iterations"].to_numpy(),
        rounds=found["rounds"].to_numpy().astype(np.intp),
        seeds=found["cells.seed"].to_numpy().astype(np.intp),
        calls=_each(found["cells.calls"], lambda own: np.array(own, dtype=np.float64), NO_CALLS),
        readings={name: found[f"cells.{name}"].to_numpy().copy() for name in READINGS},
        costs=_read(found["cells.costs"], _costs),
        loads=_read(found["cells.load"], Load.from_dict),
    )
    return RecordRows(
        frame=found.select(list(columns.RECORDS)),
        rounds=rounds,
        deviations=found["deviation"],
        cells=cells,
        conditions=_shared(found["conditions"]),
        profiles=_read(found["profile"], dict),
    )


def _cases(found: pl.DataFrame) -> list[Case]:
    """Return the case of each row. Equal texts are one object, which saves most of their memory."""
    made = [
        Case(
            workload=workload,
            compiler=compiler,
            batch_size=batch_size,
            depth=depth,
            width=width,
            precision=precision,
            objective=objective,
            device=device,
        )
        for workload, compiler, batch_size, depth, width, precision, objective, device in zip(
            *(_shared(found[name]) for name in IN_FRAME), strict=True
        )
    ]
    for row, rest in _read(found["cells.rest"], dict).items():
        made[row] = Case.from_dict({name: found[name][row] for name in IN_FRAME} | rest)
    return made


def _rest(case: Case) -> dict[str, Any]:
    if not any(getattr(case, name) for name in REST):
        return {}
    whole = case.to_dict()
    return {name: whole[name] for name in REST}


def _shared(series: pl.Series) -> list[Any]:
    """Return the values, of which equal ones are one object."""
    if len(series) and series.n_unique() == 1:
        return [series[0]] * len(series)
    if series.dtype == columns.NAME:
        texts = series.unique()
        known = dict(zip(texts.to_physical().to_list(), texts.to_list(), strict=True))
        return [*map(known.__getitem__, series.to_physical().to_list())]
    known = {}
    return [known.setdefault(value, value) for value in series.to_list()]


def _texts(name: str, values: Mapping[int, Any], height: int) -> pl.Series:
    """Return JSON of few rows, by the row."""
    found = pl.DataFrame({"row": pl.int_range(height, eager=True)})
    few = pl.DataFrame({"row": list(values), name: [json.dumps(each) for each in values.values()]}, strict=False)
    return found.join(few.cast({"row": pl.Int64, name: pl.String}), "row", how="left", maintain_order="left")[name]


def _each(texts: pl.Series, made: Callable[[Any], Any], otherwise: Any) -> list[Any]:
    """Return what is made of each text; of rows without one, something else."""
    if texts.null_count() == len(texts):
        return list(repeat(otherwise, len(texts)))
    return [otherwise if text is None else made(json.loads(text)) for text in texts]


def _read(texts: pl.Series, made: Callable[[Any], Any]) -> dict[int, Any]:
    every: Iterable[Any] = () if texts.null_count() == len(texts) else texts
    return {row: made(json.loads(text)) for row, text in enumerate(every) if text is not None}


def _costs(written: Mapping[str, Any]) -> dict[str, Cost]:
    return {name: cost if isinstance(cost, str) else Estimate(*cost) for name, cost in written.items()}
