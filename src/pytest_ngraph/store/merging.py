"""Merge stores: of several machines, or of the shards of one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ngraph.errors import StoreError
from pytest_ngraph.store.reader import check
from pytest_ngraph.store.run import SUFFIX, SUMMARIES, run_ids
from pytest_ngraph.system.files import write_whole


@dataclass(slots=True)
class Merged:
    """The outcome of a merge, by the ids of the runs.

    Attributes:
        added: runs that the target did not have.
        continued: runs of which the target had a shorter part.
        equal: runs that the target had already.
        conflicts: why runs differ between the two stores; the target's is left unchanged.
        refused: why runs cannot be read.
        summaries: files that were added of thinned or imported runs.
    """

    added: list[str] = field(default_factory=list)
    continued: list[str] = field(default_factory=list)
    equal: list[str] = field(default_factory=list)
    conflicts: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    summaries: list[str] = field(default_factory=list)


def merge(sources: Sequence[Path], target: Path) -> Merged:
    """Copy the runs of some stores into another, which may be new, with what is left of earlier and imported ones.

    Raises:
        StoreError: a source has none of these, and nothing was copied; or the target cannot be written.
    """
    merged = Merged()
    for source in sources:
        if not (run_ids(source) or _summaries(source)):
            raise StoreError(f"the store {source} has no runs. Give the folder that --ngraph-store names.")
    for source in sources:
        for run in run_ids(source):
            _take(run, source, target, merged)
        merged.summaries += _take_summaries(source, target)
    return merged


def _take(run: str, source: Path, target: Path, merged: Merged) -> None:
    """Copy one run, if the target has none of this id or only a shorter part of it."""
    try:
        check(source, run)
        text = (source / (run + SUFFIX)).read_bytes()
    except (StoreError, OSError) as error:
        merged.refused[run] = str(error)
        return
    path = target / (run + SUFFIX)
    there = path.read_bytes() if path.exists() else None
    if there is None:
        write_whole(path, text)
        merged.added.append(run)
    elif there.startswith(text):
        merged.equal.append(run)
    elif text.startswith(there):
        write_whole(path, text)
        merged.continued.append(run)
    else:
        merged.conflicts[run] = f"{source / path.name} and {path} differ from line {_first_difference(text, there)} on"


def _take_summaries(source: Path, target: Path) -> Iterator[str]:
    """Copy what is left of runs whose samples were forgotten, and what was imported, where the target has neither.

    Yield what was copied.
    """
    for path in _summaries(source):
        copy = target / SUMMARIES / path.name
        if not (copy.exists() or (target / path.name).exists()):
            write_whole(copy, path.read_bytes())
            yield path.stem


def _summaries(store: Path) -> list[Path]:
    return sorted((store / SUMMARIES).glob("*" + SUFFIX))


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one.split(b"\n"), other.split(b"\n"), strict=False), start=1)
    return next(number for number, (first, second) in pairs if first != second)
