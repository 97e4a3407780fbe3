"""Summaries of a run, from its journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from pytest_ngraph.history.summary import Origin, Summary
from pytest_ngraph.record import Record
from pytest_ngraph.store.lines import Line, lines, record_of
from pytest_ngraph.store.run import DEVICE, ENDED, SOURCE, STEP, check_schema

AT_ONCE = 256
"""Records that are summarised at a time."""


class Found(NamedTuple):
    """A record of a journal, and where it lies.

    Attributes:
        offset: bytes of the journal before it.
        length: its own bytes.
    """

    origin: Origin
    summary: Summary
    offset: int
    length: int


def read(path: Path) -> Iterator[Found | Line]:
    """Yield the records of a journal as they were written, and each line that cannot be read.

    Of a case that has several records, the last counts. A last line without its newline is left out where it cannot be
    read: it may still be being written.

    Raises:
        StoreError: the file cannot be read, or is of a later version.
    """
    every = _records(path)
    while batch := list(islice(every, AT_ONCE)):
        summaries = iter(Summary.of_each([each.record for each in batch if isinstance(each, _Placed)]))
        for each in batch:
            if isinstance(each, _Placed):
                yield Found(each.origin, next(summaries), each.offset, each.length)
            else:
                yield each


class _Placed(NamedTuple):
    """A record, and where it lies."""

    origin: Origin
    record: Record
    offset: int
    length: int


def _records(path: Path) -> Iterator[_Placed | Line]:
    """Yield the records of a journal, and each line that cannot be read."""
    environment: Mapping[str, str] = {}
    source: Mapping[str, str] = {}
    devices: dict[str, Mapping[str, str]] = {}
    for line in lines(path):
        data = line.data
        if data is not None and "schema" in data:
            if isinstance(data["schema"], int):
                check_schema(data["schema"], path.stem)
            environment, source = _texts(data.get("environment")), _texts(data.get(SOURCE))
        elif data is not None and DEVICE in data:
            devices[str(data[DEVICE])] = _texts(data.get("environment"))
        elif data is None or not (ENDED in data or STEP in data or "phase" in data):
            record = None if data is None else record_of(data)
            if record is None:
                if line.is_ended:
                    yield line
                continue
            about = devices.get(record.case.device, environment)
            origin = Origin(run=path.stem, environment=about, source=source)
            yield _Placed(origin, record, line.offset, line.length)


def _texts(data: object) -> Mapping[str, str]:
    """Return the texts of a mapping by their names; nothing for anything else."""
    if not isinstance(data, dict):
        return {}
    return {name: text for name, text in data.items() if isinstance(text, str)}
