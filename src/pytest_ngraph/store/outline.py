"""Outlines: what resuming and gating have to know of each record of a run, as columns, without its samples.

`<store>/outlines/RUN.npz` follows from the journal beside it, and can be deleted at any time. It holds for the part of
the journal that it was made from. When the journal has grown, only what was added is read (`outlining.py`).
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from pytest_ngraph.case import Case
from pytest_ngraph.record import Record
from pytest_ngraph.store.lines import changed, records_at
from pytest_ngraph.store.run import Run
from pytest_ngraph.system.files import write_whole

VERSION = 3
"""Version of the format, and of what is computed for it. An outline of another version is made again."""
FOLDER, SUFFIX = "outlines", ".npz"
COLUMNS: dict[str, str] = {
    "offset": "i8", "length": "i8", "trait": "i4", "graph": "i4", "group": "i4", "threads": "i4", "rounds": "i4",
    "kind": "i4", "slowed": "f8", "log_s": "f8", "error": "f8",
}  # fmt: skip
"""The columns, by NumPy's names of their types.

offset, length: where the record lies in the journal.
trait: number of its trait, of which there are few.
graph, group: numbers of its graph and of the label of its group.
threads: cores that computed; -1 where that was not recorded.
rounds: how many.
kind: the sum of the values of `Kind` that it has.
slowed: as `Contention.most_slowed`.
log_s, error: logarithm of the median seconds per iteration, and its standard error within the run; NaN with fewer than
    two rounds.
"""
CHECKED = 4096
"""Bytes before the end of the part that an outline holds for, which must be unchanged."""
Columns = Mapping[str, npt.NDArray[Any]]


class Kind:
    """What a record may be, each with a value of its own."""

    MEASURED, COMPARED, IDENTITY, SKIPPED = 1, 2, 4, 8


class Trait(NamedTuple):
    """What many records of a run have in common. From it follows whether they still stand.

    Attributes:
        key: everything else of a record that decides whether it still stands, as text; empty where a record has to be
            looked at by itself.
        known: whether what they follow from is known.
        may_pass: as in `Record`.
    """

    key: str
    known: bool
    may_pass: bool


class Entry(NamedTuple):
    """A record of an outline, by its row."""

    outline: Outline
    row: int
    trait: Trait

    @property
    def may_pass(self) -> bool:
        """As in `Record`."""
        return self.trait.may_pass

    @property
    def record(self) -> Record:
        """The record, read from the journal."""
        return self.outline.record(self.row)


@dataclass(frozen=True, kw_only=True, eq=False)
class Outline:
    """A run without its records, and a row for each of them: the last of each case.

    Attributes:
        run: the run; its `records` are empty.
        path: its journal.
        ids: id of the case of each row.
        columns: those of `COLUMNS`.
        traits: traits by their numbers.
        graphs: digests of graphs by their numbers; an empty one is not known.
        groups: labels of groups by their numbers.
    """

    run: Run
    path: Path
    ids: Sequence[str]
    columns: Columns
    traits: Sequence[Trait]
    graphs: Sequence[str]
    groups: Sequence[str]

    def entry(self, case: Case) -> Entry | None:
        """Return the record of a case; None where the run has none."""
        row = self.rows.get(case.id)
        return None if row is None else Entry(self, row, self.traits[self._trait_of[row]])

    def record(self, row: int) -> Record:
        """Return the record of a row. Raise `StoreError` where it is no longer there."""
        (found,) = self._read([row])
        return found

    def records(self, begin: int = 0) -> Iterator[Record]:
        """Yield the records from this row on, one by one."""
        return self._read(range(begin, len(self.ids)))

    def _read(self, rows: Sequence[int]) -> Iterator[Record]:
        places = zip(self.columns["offset"][rows].tolist(), self.columns["length"][rows].tolist(), strict=True)
        for row, found in zip(rows, records_at(self.path, places), strict=True):
            if found is None or found.case.id != self.ids[row]:
                raise changed(self.path)
            yield found

    def are(self, kind: int) -> npt.NDArray[np.bool_]:
        """Return which rows are of a `Kind`."""
        found: npt.NDArray[np.bool_] = self.columns["kind"] & kind > 0
        return found

    @property
    def may_pass(self) -> bool:
        """Whether any record `may_pass`."""
        return any(self.traits[number].may_pass for number in np.unique(self.columns["trait"]))

    @property
    def compared_on(self) -> int | None:
        """The most cores that a record with a comparison was measured on; None where there is none."""
        threads = self.columns["threads"][self.are(Kind.COMPARED)]
        return int(threads.max()) if threads.max(initial=0) > 0 else None

    @cached_property
    def _trait_of(self) -> list[int]:
        found: list[int] = self.columns["trait"].tolist()
        return found

    @cached_property
    def rows(self) -> dict[str, int]:
        """The row of each case, by its id."""
        return dict(zip(self.ids, range(len(self.ids)), strict=True))


@dataclass(frozen=True, slots=True)
class Stored:
    """An outline as its file has it, from which reading a journal can go on.

    Attributes:
        covered: bytes of the journal that it holds for. They end with a newline.
        columns: rows in the order of the journal, also those that a later record of their case replaces.
        texts: everything else, as JSON has it.
    """

    covered: int
    columns: Columns
    texts: dict[str, Any]


def path_of(journal: Path) -> Path:
    """Return where the outline of a journal is kept."""
    return journal.parent / FOLDER / (journal.stem + SUFFIX)


def rows_path(journal: Path) -> Path:
    """Return the folder of the rows that are kept of a run (`report.study.kept`)."""
    return path_of(journal).with_suffix(".rows")


def load(journal: Path) -> Stored | None:
    """Return what is kept for a journal; None where nothing is, or where it does not hold for its first part."""
    try:
        with np.load(path_of(journal), allow_pickle=False) as file:
            texts = json.loads(file["texts"].tobytes())
            if texts.get("version") != VERSION:
                return None
            stored = Stored(texts["covered"], {name: file[name] for name in COLUMNS}, texts)
        is_current = _is_current(journal, stored.covered, *texts["stamp"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
        return None
    return stored if is_current else None


def save(journal: Path, stored: Stored) -> None:
    """Keep an outline. Raise `StoreError` where it cannot be written."""
    texts = stored.texts | {
        "version": VERSION,
        "covered": stored.covered,
        "stamp": _stamp(journal, stored.covered),
    }
    buffer = io.BytesIO()
    encoded = np.frombuffer(json.dumps(texts).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = {"texts": encoded, **stored.columns}
    np.savez(buffer, **arrays)
    write_whole(path_of(journal), buffer.getvalue())


def forget(journal: Path) -> None:
    """Remove what follows from a journal, if it is there. Raises `OSError`."""
    rows = rows_path(journal)
    for path in (path_of(journal), rows.with_suffix(".parquet")):  # earlier versions kept rows in one file
        path.unlink(missing_ok=True)
    if rows.exists():
        shutil.rmtree(rows)


def _stamp(journal: Path, covered: int) -> tuple[int, str]:
    """Return what changes with the part of a journal that an outline holds for: when it was changed, and its end.

    Of a journal that has grown, the time of change says nothing: it is 0 then.
    """
    status = journal.stat()
    return status.st_mtime_ns if status.st_size == covered else 0, end_of(journal, covered)


def end_of(journal: Path, covered: int) -> str:
    """Return a digest of the end of the part of a journal before this byte. Raises `OSError`."""
    with journal.open("rb") as file:
        file.seek(max(0, covered - CHECKED))
        return hashlib.sha256(file.read(min(covered, CHECKED))).hexdigest()


def _is_current(journal: Path, covered: int, changed_ns: int, end: str) -> bool:
    now_ns, now_end = _stamp(journal, covered)
    return journal.stat().st_size >= covered and now_end == end and 0 in {changed_ns, now_ns, changed_ns - now_ns}
