"""The rows of a run, kept in parts beside its outline: to read records takes most of the time of a report.

A session keeps those of a long run while it writes it, by `python -m pytest_ngraph.report.study.kept JOURNAL`, and a
report those that it finds missing. They lie in the folder `<store>/outlines/RUN.rows`, follow from the journal, as the
outline beside it does, and can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from pytest_ngraph.errors import StoreError
from pytest_ngraph.metrics.learned import Conditions
from pytest_ngraph.record import Record
from pytest_ngraph.report.study.kept_table import rows_of, table
from pytest_ngraph.report.study.record_rows import RecordRows
from pytest_ngraph.report.study.rounds import STAMP, InFile, Rounds
from pytest_ngraph.store import Outline
from pytest_ngraph.store.lines import unreadable
from pytest_ngraph.store.outline import Columns, end_of, rows_path
from pytest_ngraph.store.outlining import WORTH_KEEPING_ONCE_READ, outline_of
from pytest_ngraph.system.files import write_whole
from pytest_ngraph.system.garbage import without_garbage_collection
from pytest_ngraph.system.installed import PACKAGE_FOLDER

AT_ONCE = 5_000
"""Records that are turned into rows at a time, and the rows of a part: a session adds to a part that has fewer."""
PLACE = "pytest_ngraph.place"
"""Where a part says what it holds for."""
SEEN = "seen"
"""The file with the size of the journal, and when it was changed, as of when parts were last read or written."""
CODE = ("*.py", "metrics/*.py", "record/*.py", "report/study/*.py", "stats/*.py")
"""The code that makes the rows."""
WRONG = (OSError, ValueError, KeyError, TypeError, pl.exceptions.PolarsError)
"""What reading damaged parts raises."""
Places = Sequence[tuple[int, int]]
"""Offset and length of records in the journal."""


@dataclass(frozen=True, slots=True)
class Part:
    """The file of some rows, whose records follow each other in a journal.

    Attributes:
        stamp: what the file says of itself, whatever is added to it.
        begin, end: the bytes of the journal that it holds for.
        count: the number of rows, those included that a later record of their case replaces.
    """

    path: Path
    stamp: str
    begin: int
    end: int
    count: int


def read(outline: Outline, digests: Conditions) -> Iterator[RecordRows]:
    """Yield the rows of a run, in the order of its records: those that are kept, and others, which are kept then.

    Raises `StoreError` where the journal is no longer there, or was changed while it was read.
    """
    if len(outline.ids) < WORTH_KEEPING_ONCE_READ:
        yield from made_of(outline.records(), digests)
        return
    seen = _status(outline.path)
    end, done = 0, 0
    for part in parts(outline.path):
        rows = _load(part, outline)
        if rows is None:
            break
        end, done = part.end, done + rows.frame.height
        if rows.frame.height:
            yield rows
    if done < len(outline.ids):
        _discard(outline.path, end)
        yield from _kept_now(outline, end, done, digests)
    _see(outline.path, seen)


def made_of(records: Iterator[Record], digests: Conditions) -> Iterator[RecordRows]:
    """Yield the rows of records, some at a time: as objects, all of them would take gigabytes."""
    while batch := _next_of(records):
        yield RecordRows.of(batch, digests)


def keep(journal: Path) -> None:
    """Keep the rows of a run that are not kept yet: while its session writes it, or at its end.

    Raises `StoreError` where the journal cannot be read.
    """
    outline = outline_of(journal)
    seen, places = _status(journal), _places(outline.columns)
    last = next(reversed([*parts(journal)]), None)
    end = last.end if last else 0
    _discard(journal, end)
    done = int(np.searchsorted(outline.columns["offset"], end))
    for rows in made_of(outline.records(done), Conditions()):
        last = _save(journal, rows, places[done : done + rows.frame.height], end, last)
        if last is None:
            return
        done, end = done + rows.frame.height, last.end
    _see(journal, seen)


def parts(journal: Path) -> Iterator[Part]:
    """Yield the parts that hold for a journal, from its first record on without a gap."""
    folder, end = rows_path(journal), 0
    if not folder.is_dir() or _is_other(journal, folder / SEEN):
        return
    with suppress(*WRONG):
        while (path := _path(journal, end)).exists():
            metadata = pl.read_parquet_metadata(path)
            begin, (end, count, text) = end, json.loads(metadata[PLACE])
            if metadata[STAMP] != _stamp(begin) or end_of(journal, end) != text:
                return
            yield Part(path, metadata[STAMP], begin, end, count)


def _load(part: Part, outline: Outline) -> RecordRows | None:
    """Return the rows of a part that are in the outline of their run; None where the part is damaged."""
    known, known_lengths = (outline.columns[name] for name in ("offset", "length"))
    try:
        found = pl.read_parquet(part.path).head(part.count)
        offsets, lengths = (found[name].to_numpy() for name in ("offset", "length"))
        own = np.arange(*np.searchsorted(known, (part.begin, part.end)))
        rows = np.searchsorted(offsets, known[own])
        if not (np.array_equal(offsets[rows], known[own]) and np.array_equal(lengths[rows], known_lengths[own])):
            return None
        is_whole = len(rows) == part.count
        rounds = Rounds.of(InFile(part.path, part.stamp, part.count, None if is_whole else rows), len(rows))
        return rows_of(found if is_whole else found[rows], rounds)
    except (*WRONG, IndexError):
        return None


def _kept_now(outline: Outline, end: int, done: int, digests: Conditions) -> Iterator[RecordRows]:
    """Yield the rows of an outline from the row `done` on, and keep them. The parts before them end at `end`."""
    places = _places(outline.columns)
    for rows in made_of(outline.records(done), digests):
        count = rows.frame.height
        part = _save(outline.path, rows, places[done : done + count], end)
        yield (
            rows if part is None else replace(rows, rounds=Rounds.of(InFile(part.path, part.stamp, count, None), count))
        )
        done, end = done + count, part.end if part else end


def _save(journal: Path, rows: RecordRows, places: Places, begin: int, last: Part | None = None) -> Part | None:
    """Write a part; None where it cannot be written.

    Args:
        journal: the journal of the records.
        rows: those of the records.
        places: where these lie.
        begin: where what the parts before it hold for ends.
        last: the part before it, to which the rows are added where it has few.
    """
    found = table(rows, places)
    offset, length = places[-1]
    if last and last.count < AT_ONCE:
        found, begin = pl.concat([pl.read_parquet(last.path).head(last.count), found]), last.begin
    part = Part(_path(journal, begin), _stamp(begin), begin, offset + length, found.height)
    place = json.dumps([part.end, part.count, end_of(journal, part.end)])
    buffer = io.BytesIO()
    found.write_parquet(buffer, metadata={STAMP: part.stamp, PLACE: place})
    try:
        write_whole(part.path, buffer.getvalue())
    except StoreError:
        return None
    return part


def _discard(journal: Path, begin: int) -> None:
    """Remove what is kept for a journal from this byte on, and what earlier versions kept."""
    folder = rows_path(journal)
    with suppress(OSError):
        folder.with_suffix(".parquet").unlink(missing_ok=True)
        for path in folder.glob("*.parquet"):
            if int(path.stem) >= begin:
                path.unlink()


def _see(journal: Path, seen: list[int]) -> None:
    """Note what was seen of a journal before it was read, unless it was changed since."""
    with suppress(StoreError, OSError):
        if rows_path(journal).is_dir() and _status(journal) == seen:
            (rows_path(journal) / SEEN).write_text(json.dumps(seen))


def _is_other(journal: Path, path: Path) -> bool:
    """Return whether a journal was changed otherwise than by adding to it, as far as what was noted shows."""
    try:
        size, changed_ns = map(int, json.loads(path.read_text()))
        now_size, now_ns = _status(journal)
    except (OSError, ValueError, TypeError):
        return False
    return now_size < size or (now_size == size and now_ns != changed_ns)


def _status(journal: Path) -> list[int]:
    """Return the size of a journal, and when it was changed. Raise `StoreError` where it is no longer there."""
    try:
        status = journal.stat()
    except OSError as error:
        raise unreadable(journal, error) from error
    return [status.st_size, status.st_mtime_ns]


def _places(of: Columns) -> Places:
    return list(zip(of["offset"].tolist(), of["length"].tolist(), strict=True))


def _path(journal: Path, begin: int) -> Path:
    return rows_path(journal) / f"{begin:015}.parquet"


def _stamp(begin: int) -> str:
    return f"{_code()} {begin}"


@cache
def _code() -> str:
    sources = sorted(path for pattern in CODE for path in PACKAGE_FOLDER.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _next_of(records: Iterator[Record]) -> list[Record]:
    with without_garbage_collection():
        return list(islice(records, AT_ONCE))


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
