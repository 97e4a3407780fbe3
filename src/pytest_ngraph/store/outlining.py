"""Make outlines: read what a journal has gained since its outline was kept, and keep it again."""

from __future__ import annotations

import json
import math
from array import array
from collections import defaultdict
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Record, Round
from pytest_ngraph.stats import Floats
from pytest_ngraph.stats.bootstrap import bootstrap_medians_of_each
from pytest_ngraph.store.conformity import conforms
from pytest_ngraph.store.lines import unreadable
from pytest_ngraph.store.outline import COLUMNS, Kind, Outline, Stored, Trait, load, save
from pytest_ngraph.store.reader import Reader, path_of
from pytest_ngraph.store.run import LATEST, Death
from pytest_ngraph.system.garbage import without_garbage_collection

WORTH_KEEPING = 1000
"""Records that a journal must have gained before a session keeps its outline again."""
WORTH_KEEPING_ONCE_READ = 100
"""Records that were read, from which on the outline is kept: a store has many short runs, and fewer are read as
quickly."""
SHARE = 50
"""An outline is kept again when its journal has grown by this part."""
AT_ONCE = 1024
"""Records whose medians are computed at a time."""
DRAWS = 400
"""Bootstrap draws of a median: they give its standard error to within 4 %."""
OF_THE_CASE = ("graph", "workload", "batch_size")
"""What records of one trait may differ in, as keys of `Record.follows_from`."""


def outlined(folder: Path, run: str = LATEST) -> Outline:
    """Return the outline of a run of a store; `LATEST` is the last one begun.

    Raises:
        StoreError: there is no such run, it cannot be read, or its schema is newer than this version's.
    """
    return outline_of(path_of(folder, run))


def outline_of(journal: Path) -> Outline:
    """Return the outline of a journal, and keep it where that is worth it. Raises `StoreError`."""
    outliner, torn = _read(journal)
    if torn:
        outliner.take(torn)
    return outliner.outline()


def gain(journal: Path) -> int:
    """Add to an outline what its journal has gained. Return after how many more records it should gain again.

    The number grows with the journal, so that all the writing together takes time in proportion to its records.
    """
    with suppress(StoreError):
        return max(WORTH_KEEPING, _read(journal)[0].rows // SHARE)
    return WORTH_KEEPING


def _read(journal: Path) -> tuple[Outliner, bytes]:
    """Return what outlines a journal up to its last newline, and the text behind that."""
    kept = load(journal)
    outliner = Outliner(journal, kept)
    before = outliner.rows
    torn = b""
    try:
        with journal.open("rb") as file, without_garbage_collection():
            file.seek(outliner.offset)
            for text in file:
                if text.endswith(b"\n"):
                    outliner.take(text)
                else:
                    torn = text
    except OSError as error:
        raise unreadable(journal, error) from error
    if outliner.rows - before >= WORTH_KEEPING_ONCE_READ:
        with suppress(StoreError, OSError):  # it can be made again
            save(journal, outliner.stored())
    return outliner, torn


def log_medians(samples: Floats) -> tuple[Floats, Floats]:
    """Return the logarithms of the medians of n records, with their standard errors within the run; shape (n,) each.

    Args:
        samples: seconds per iteration, shape (n, rounds), with two rounds or more.
    """
    count = samples.shape[1]
    seeds = [count] * len(samples)
    medians = bootstrap_medians_of_each(samples, seeds, DRAWS, widths=np.ones(len(samples)))
    drawn = np.log(medians, dtype=np.float64)
    # Draws scatter around the sample's mean, not the true one: their variance is too small by a factor (n - 1) / n.
    errors: Floats = np.std(drawn, axis=1) * math.sqrt(count / (count - 1))
    return np.log(np.median(samples, axis=1)), errors


class Outliner(Reader):
    """Reads a journal, and keeps a row for each record instead of the record."""

    def __init__(self, journal: Path, kept: Stored | None = None) -> None:
        super().__init__(journal.stem)
        self._journal = journal
        self._columns = {name: array("d" if kind == "f8" else "q") for name, kind in COLUMNS.items()}
        self._ids: dict[str, int] = {}
        self._numbers: dict[str, dict[str, int]] = {"graph": {}, "group": {}, "trait": {}, "device": {}}
        self._recent: dict[tuple[object, ...], tuple[dict[str, Any], int]] = {}
        self._waiting: dict[int, list[tuple[int, tuple[Round, ...]]]] = defaultdict(list)
        if kept is not None:
            self._restore(kept)

    def keep(self, record: Record, length: int) -> None:
        """Add the row of a record."""
        case = record.case
        row = self.rows
        kind = (
            Kind.MEASURED * (record.outcome == "measured")
            | Kind.COMPARED * (record.comparison is not None)
            | Kind.IDENTITY * (case.compiler == IDENTITY)
            | Kind.SKIPPED * (record.outcome == "skipped")
        )
        cells: dict[str, Any] = {
            "offset": self.offset,
            "length": length,
            "trait": self._trait(record),
            "graph": self._number("graph", str(record.follows_from.get("graph") or "")),
            "group": self._number("group", case.group_label),
            "threads": -1 if record.threads is None else record.threads,
            "rounds": len(record.rounds),
            "kind": kind,
            "slowed": record.contention.most_slowed,
            "log_s": math.nan,
            "error": math.nan,
        }
        for name, column in self._columns.items():
            column.append(cells[name])
        self._number("device", case.device)
        self._ids.pop(case.id, None)
        self._ids[case.id] = row
        if len(record.rounds) > 1:
            waiting = self._waiting[len(record.rounds)]
            waiting.append((row, record.rounds))
            if len(waiting) == AT_ONCE:
                self._compute(len(record.rounds))

    def _end_step(self, elapsed_s: Any) -> bool:
        """Keep no steps: a race reads its run in full."""
        return conforms(elapsed_s, float)

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return len(self._columns["offset"])

    def stored(self) -> Stored:
        """Return what is kept of the lines so far."""
        for count in list(self._waiting):
            self._compute(count)
        texts = {
            "ids": list(self._ids),
            "rows": list(self._ids.values()),
            "number": self._number_of_lines,
            "environment": self._environment,
            "environments": self._environments,
            "planned": sorted(self._planned),
            "deaths": [[case.to_dict(), *death] for case, death in self._deaths.items()],
            "running": [[case.to_dict(), phase] for case, phase in self._running.items()],
            "last": self._last.to_dict() if self._last else None,
            "whole": self._whole,
            "dropped": self._dropped,
            **{name: list(texts) for name, texts in self._numbers.items()},
        }
        columns = {name: np.array(self._columns[name], dtype=kind) for name, kind in COLUMNS.items()}
        return Stored(self.offset, columns, texts)

    def outline(self) -> Outline:
        """Return the outline. No more lines come."""
        stored = self.stored()
        rows = np.array(stored.texts["rows"], dtype=np.intp)
        return Outline(
            run=replace(self.run(), devices_of_outline=tuple(stored.texts["device"])),
            path=self._journal,
            ids=stored.texts["ids"],
            columns={name: column[rows] for name, column in stored.columns.items()},
            traits=[Trait(*json.loads(text)[:3]) for text in stored.texts["trait"]],
            graphs=stored.texts["graph"],
            groups=stored.texts["group"],
        )

    def _restore(self, kept: Stored) -> None:
        texts = kept.texts
        self.offset, self._number_of_lines = kept.covered, texts["number"]
        for name, column in self._columns.items():
            column.frombytes(kept.columns[name].astype(column.typecode).tobytes())
        self._ids = dict(zip(texts["ids"], texts["rows"], strict=True))
        self._numbers = {name: {text: place for place, text in enumerate(texts[name])} for name in self._numbers}
        self._environment, self._environments = texts["environment"], texts["environments"]
        self._planned = set(texts["planned"])
        self._deaths = {Case.from_dict(case): Death(times, phase) for case, times, phase in texts["deaths"]}
        self._running = {Case.from_dict(case): phase for case, phase in texts["running"]}
        self._last = Case.from_dict(texts["last"]) if texts["last"] else None
        self._whole, self._dropped = texts["whole"], texts["dropped"]

    def _number(self, column: str, text: str) -> int:
        known = self._numbers[column]
        return known.setdefault(text, len(known))

    def _trait(self, record: Record) -> int:
        """Return the number of a record's trait. Neighbours under one compiler mostly have the same."""
        case, before, compared = record.case, record.follows_from, record.comparison
        shared = {name: value for name, value in before.items() if name not in OF_THE_CASE}
        fits = (before.get("workload"), before.get("batch_size")) == (case.model_label, case.batch_size)
        own = (
            fits, bool(before), bool(before.get("graph")), record.may_pass, record.outcome, case.compiler, case.device,
            case.precision, case.objective, case.scored_by, record.failure.kind if record.failure else "",
            record.lacks_costs, record.lacks_profile, record.lacks_compile_s, bool(record.calls),
            bool(compared and compared.problem), bool(compared and compared.launches),
            bool(compared and (compared.alone or compared.alone_problem)),
            bool(compared and (compared.calls or compared.calls_problem)),
        )  # fmt: skip
        recent = self._recent.get(own)
        if recent is not None and recent[0] == shared:
            return recent[1]
        key = json.dumps([own, shared], sort_keys=True) if fits and before.get("graph") else ""
        number = self._number("trait", json.dumps([key, bool(before), record.may_pass, shared], sort_keys=True))
        self._recent[own] = shared, number
        return number

    def _compute(self, count: int) -> None:
        """Compute the medians of the records that wait for it, all with this many rounds."""
        waiting = self._waiting.pop(count)
        rounds = np.array([own for _, own in waiting], dtype=np.float64)
        logs, errors = log_medians(rounds[:, :, 1] / rounds[:, :, 0])
        for (row, _), log_s, error in zip(waiting, logs.tolist(), errors.tolist(), strict=True):
            self._columns["log_s"][row], self._columns["error"][row] = log_s, error
