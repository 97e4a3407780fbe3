"""The store: an append-only journal of records, one file a run.

JSON Lines, because a line is whole or it is not: a torn tail costs one record, two runs never write to the same file,
merging is copying, readers need no lock, and nothing read back can run code. The first line of a file describes the
run (schema, environment), every other one is a record, on disk before its test reports an outcome.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Record

SCHEMA = 1
SUFFIX = ".jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as read back. damaged: how many lines could not be read."""

    id: str
    environment: dict[str, str] = field(default_factory=dict)
    records: tuple[Record, ...] = ()
    damaged: int = 0


class Journal:
    """Writes one run. The file appears with the first record, so that a run which measured nothing leaves nothing."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.id = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        self._path = folder / (self.id + SUFFIX)
        self._environment = environment
        self._file: int | None = None

    def append(self, record: Record) -> None:
        """Write the record and wait until it is on disk."""
        try:
            if self._file is None:
                self._file = self._create()
            _append_line(self._file, record.to_dict())
        except OSError as error:
            raise _unwritable(self._path.parent, error) from error

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _create(self) -> int:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        ignore = self._path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        _append_line(file, {"schema": SCHEMA, "run": self.id, "environment": self._environment})
        return file


def check_writable(folder: Path) -> None:
    """Raise `StoreError` when a run could not be written there: better before hours of measuring than after."""
    probe = folder / f".probe-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(4096))
        probe.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from error


def _append_line(file: int, data: dict[str, Any]) -> None:
    """Write one line whole, and wait for the disk. A line that was cut short is ended, so that the next is whole."""
    line = json.dumps(data, separators=(",", ":")).encode() + b"\n"
    written = os.write(file, line)
    if written < len(line):
        os.write(file, b"\n")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _unwritable(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot write to the store {folder}: {error.strerror}. Give a folder that can be written: --ngraph-store=DIR."
    )


def run_ids(folder: Path) -> list[str]:
    """The runs in a store, oldest first."""
    return sorted(path.stem for path in folder.glob("*" + SUFFIX))


def read(folder: Path, run: str = "latest") -> Run:
    """One run with its records; `latest` is the last one begun."""
    known = run_ids(folder)
    if not known:
        raise StoreError(f"the store {folder} has no runs. Run pytest first, or give another folder.")
    if run == "latest":
        run = known[-1]
    if run not in known:
        raise StoreError(f"the store {folder} has no run {run!r}. Runs: {', '.join(known[-10:])}.")
    return _parse(run, (folder / (run + SUFFIX)).read_bytes().split(b"\n"))


def _parse(run: str, lines: list[bytes]) -> Run:
    environment: dict[str, str] = {}
    records = []
    damaged = 0
    for data in _decoded(lines):
        if data is None:
            damaged += 1
        elif "schema" in data:
            if data["schema"] > SCHEMA:
                raise StoreError(
                    f"run {run} was written with schema {data['schema']}, this pytest-ngraph reads up to {SCHEMA}. "
                    "Upgrade pytest-ngraph."
                )
            environment = data["environment"]
        else:
            records.append(Record.from_dict(data))
    return Run(id=run, environment=environment, records=tuple(records), damaged=damaged)


def _decoded(lines: list[bytes]) -> Iterator[dict[str, Any] | None]:
    for line in lines:
        if not line:
            continue
        try:
            data = json.loads(line)
        except ValueError:
            data = None
        yield data if isinstance(data, dict) else None
