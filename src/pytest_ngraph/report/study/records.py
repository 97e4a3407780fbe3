"""Every record and every raw sample, for the user's own tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from pytest_ngraph.report.study.columns import NAME, RECORDS, ROUNDS, SCOPE
from pytest_ngraph.report.study.data import Study

OF_RECORD = ("run", *SCOPE)
OF_ROUND = ("round", "iterations", "elapsed_s")
ROUND = (*OF_RECORD, *OF_ROUND)
"""The columns of `records.csv`."""
IN_PARQUET = {name: pl.String if kind == NAME else kind for name, kind in (RECORDS | ROUNDS).items()}
"""The columns of `records.parquet`: text is plain, as other tools group categories in another way."""
AT_ONCE = 5_000
"""Records whose rounds are in memory at a time."""
GROUP = 20_000
"""Records that `records.parquet` has in a group of rows: those of a group are in memory until it is written."""


def write(study: Study, folder: Path) -> list[Path]:
    """Write `records.parquet`, a row for each record with its rounds as lists, and `records.csv`, a row for each round.

    A record without rounds is only in the first. Return the files.
    """
    parquet, csv = folder / "records.parquet", folder / "records.csv"
    with csv.open("wb") as file:

        def passed_on() -> Iterator[pl.DataFrame]:
            """Yield the records, some at a time, and write their rounds to the CSV."""
            file.write(f"{','.join(ROUND)}\n".encode())
            for each in _records(study):
                _rounds(each).write_csv(file, include_header=False, quote_style="never")
                yield each.cast({NAME: pl.String})

        _write_parquet(passed_on(), parquet)
    return [parquet, csv]


def _records(study: Study) -> Iterator[pl.DataFrame]:
    """Yield the records with their rounds, some at a time."""
    begin = 0
    for rounds in study.rounds.frames(AT_ONCE):
        yield pl.concat([study.records.slice(begin, rounds.height), rounds], how="horizontal")
        begin += rounds.height


def _write_parquet(frames: Iterator[pl.DataFrame], path: Path) -> None:
    """Write the frames as one, without having them all in memory."""
    raised: list[Exception] = []

    def source(*_: object) -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except Exception as error:
            raised.append(error)
            raise

    try:
        register_io_source(source, schema=IN_PARQUET).sink_parquet(path, row_group_size=GROUP)
    except pl.exceptions.PolarsError:
        if raised:
            raise raised[0] from None
        raise


def _rounds(records: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each round, as in `records.csv`.

    What it has of its record is one text: to write each field again for every round would take most of the time.
    """
    numbered = records.filter(pl.col("rounds") > 0).select(
        pl.concat_str(map(in_csv, OF_RECORD), separator=","),
        pl.int_ranges(1, pl.col("rounds") + 1).alias("round"),
        "iterations",
        "elapsed_s",
    )
    return numbered.explode(OF_ROUND)


def in_csv(name: str) -> pl.Expr:
    """Return a column as the texts that Polars writes to CSV."""
    text = pl.col(name).cast(pl.String)
    has_quotes = text.str.contains(r'[",\r\n]') | (text == "")
    quoted = pl.concat_str(pl.lit('"'), text.str.replace_all('"', '""', literal=True), pl.lit('"'))
    return pl.when(has_quotes).then(quoted).otherwise(text).fill_null("")
