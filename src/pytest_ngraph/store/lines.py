"""The lines of a journal, and which of them are records. Damaged lines are recognised, and raise nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pytest_ngraph.costs import Costs
from pytest_ngraph.errors import StoreError
from pytest_ngraph.load import Load
from pytest_ngraph.record import Record
from pytest_ngraph.store.conformity import conforms

LONGEST_S = 1e9
"""Of a round or a call. Nothing was timed for thirty years: the line is damaged."""


class Line(NamedTuple):
    """A line of a journal.

    Attributes:
        offset: bytes of the file before it.
        length: its own bytes, without the newline.
        data: its JSON object; None where it has none.
        is_ended: whether a newline ends it. The last line of a journal may still be being written.
    """

    offset: int
    length: int
    data: dict[str, Any] | None
    is_ended: bool


def lines(path: Path) -> Iterator[Line]:
    """Yield the lines of a file that are not empty. Raise `StoreError` if it cannot be read."""
    offset = 0
    try:
        with path.open("rb") as file:
            for text in file:
                line = text.rstrip(b"\n")
                if line:
                    yield Line(offset, len(line), decoded(line), text.endswith(b"\n"))
                offset += len(text)
    except OSError as error:
        raise unreadable(path, error) from error


def record_at(path: Path, offset: int, length: int) -> Record | None:
    """Return the record that lies at this place of a journal, without reading the rest; None if none lies there."""
    return next(records_at(path, [(offset, length)]))


def records_at(path: Path, places: Iterable[tuple[int, int]]) -> Iterator[Record | None]:
    """Yield the record that lies at each place, an offset and a length, of a journal; None if none lies there."""
    try:
        with path.open("rb") as file:
            for offset, length in places:
                file.seek(offset)
                data = decoded(file.read(length))
                yield None if data is None else record_of(data)
    except OSError as error:
        raise unreadable(path, error) from error


def record_of(data: dict[str, Any]) -> Record | None:
    """Return the record that a line's data are; None if they are none, or not one to compute with."""
    try:
        record = Record.from_dict(data)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
    return record if conforms(record, Record) and _is_possible(record) else None


def decoded(line: bytes) -> dict[str, Any] | None:
    """Return the line's JSON object; None for anything else."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def unreadable(path: Path, error: OSError) -> StoreError:
    """Return the error of a file that cannot be read."""
    return StoreError(f"cannot read {path}: {error.strerror}.")


def changed(path: Path) -> StoreError:
    """Return the error of a file that changes while it is read."""
    return StoreError(f"{path} was changed while it was read. Try again.")


def _is_possible(record: Record) -> bool:
    """Return whether the record's numbers are consistent enough to compute with."""
    if not all(0 < call < LONGEST_S for call in record.calls):
        return False
    if record.load and not _is_possible_load(record.load):
        return False
    if record.serving and not all(0 <= seconds < LONGEST_S for seconds in _seconds_of(record.serving)):
        return False
    if record.outcome == "measured":
        return bool(record.rounds) and all(r.iterations > 0 and 0 < r.elapsed_s < LONGEST_S for r in record.rounds)
    return (record.outcome == "failed") == (record.failure is not None)


def _is_possible_load(load: Load) -> bool:
    times = (load.limit_s, load.call_s, *(seconds for rate in load.rates for seconds in rate.seconds))
    speeds = (speed for rate in load.rates for speed in (rate.per_s, rate.shows))
    return (
        all(0 <= time < LONGEST_S for time in times)
        and all(0 <= speed < math.inf for speed in speeds)
        and all(rate.seconds for rate in load.rates)
    )


def _seconds_of(serving: Costs) -> Iterator[float]:
    """Yield the seconds of every launch."""
    for launch in serving.launches:
        yield from (
            launch.cold_start_s,
            launch.serving_import_s,
            launch.serving_load_s,
            launch.serving_first_call_s,
        )
