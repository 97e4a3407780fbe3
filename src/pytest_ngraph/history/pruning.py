"""Forget old runs: first their samples, then their summaries; and find damage in a store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.errors import StoreError
from pytest_ngraph.history import journals, summary
from pytest_ngraph.history.summary import Origin, Summary
from pytest_ngraph.store import SUFFIX, baselines
from pytest_ngraph.store.journal import stamp_of
from pytest_ngraph.store.outline import forget
from pytest_ngraph.store.run import SUMMARIES
from pytest_ngraph.wording import counted

DAY_S = 86400.0


@dataclass(slots=True)
class Pruned:
    """What was forgotten.

    Attributes:
        thinned: runs of which only summaries are left.
        removed: runs of which nothing is left.
        kept: why old runs are kept as they are, by their ids.
        freed_bytes: by how much the store became smaller.
    """

    thinned: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    freed_bytes: int = 0


def prune(folder: Path, keep_days: float, *, thin: bool = False, dry: bool = False, now: float | None = None) -> Pruned:
    """Forget runs that began more than `keep_days` days ago.

    Args:
        folder: the store.
        thin: forget their samples only; else their summaries, too.
        dry: only find what would be forgotten.
        now: seconds since the epoch.

    Raises:
        StoreError: a run cannot be read or removed. What was forgotten before stays forgotten.
    """
    limit = (time.time() if now is None else now) - keep_days * DAY_S
    pruned = Pruned()
    needed = _of_baselines(folder)
    for run in store.run_ids(folder):
        path = folder / (run + SUFFIX)
        if _began(path) >= limit:
            continue
        if reason := needed.get(run) or _why_needed(path):
            pruned.kept[run] = reason
            continue
        before = path.stat().st_size
        if thin:
            target = folder / SUMMARIES / path.name
            if not dry:
                summary.write(target, _summaries(path))
            pruned.freed_bytes -= target.stat().st_size if target.exists() else 0
            pruned.thinned.append(run)
        else:
            pruned.removed.append(run)
        pruned.freed_bytes += before
        _remove(path, dry=dry)
    for path in () if thin else summary.files(folder):
        if _began(path) < limit and not _is_imported(path):
            pruned.freed_bytes += path.stat().st_size
            pruned.removed.append(path.stem)
            _remove(path, dry=dry)
    return pruned


def damage(folder: Path) -> Iterator[str]:
    """Yield what cannot be read in a store, its baselines and its summaries, each in a line."""
    for place in (folder, *(folder / baselines.FOLDER / name for name in baselines.names(folder))):
        for run in store.run_ids(place):
            name = str((place / run).relative_to(folder))
            try:
                found = store.check(place, run)
            except StoreError as error:
                yield f"{name}: {error}"
                continue
            torn = store.is_live(place, run)  # its last line may be being written
            dropped = [line for line in found.dropped if not (torn and "not finished" in line)]
            if dropped:
                yield f"{name}: {counted(len(dropped), 'damaged line')}: {'; '.join(dropped)}"
    for path in summary.files(folder):
        name = str(path.relative_to(folder))
        try:
            unread = sum(each is None for each in summary.read(path))
        except StoreError as error:
            yield f"{name}: {error}"
            continue
        if unread:
            yield f"{name}: {counted(unread, 'damaged line')}"


def _summaries(path: Path) -> list[tuple[Origin, Summary]]:
    """Return the summaries of a run: of each case, that of its last record."""
    last: dict[str, tuple[Origin, Summary]] = {}
    for found in journals.read(path):
        if isinstance(found, journals.Found):
            last.pop(found.summary.case_id, None)
            last[found.summary.case_id] = (found.origin, found.summary)
    return list(last.values())


def _of_baselines(folder: Path) -> dict[str, str]:
    kept: dict[str, str] = {}
    for name in baselines.names(folder):
        for run in store.run_ids(folder / baselines.FOLDER / name):
            kept.setdefault(run, f"a run of baseline {name}")
    return kept


def _why_needed(path: Path) -> str:
    """Return why a run may not be forgotten: a session writes to it, or can resume it, or it is damaged."""
    if store.is_live(path.parent, path.stem):
        return "being measured"
    try:
        found = store.check(path.parent, path.stem)
    except StoreError:
        return "cannot be read"
    if not found.whole:
        return "not finished"
    return "damaged" if found.damaged else ""


def _began(path: Path) -> float:
    """Return when a run began, from its id; if that has another form, when its file was last changed."""
    stamp = stamp_of(path.stem)
    return path.stat().st_mtime if stamp is None else stamp.timestamp()


def _is_imported(path: Path) -> bool:
    """Whether a file of summaries is not of a run: what was imported is removed by hand."""
    return stamp_of(path.stem) is None


def _remove(path: Path, *, dry: bool) -> None:
    if dry:
        return
    try:
        with suppress(FileNotFoundError):
            path.unlink()
            forget(path)
    except OSError as error:
        raise StoreError(f"cannot remove {path}: {error.strerror}.") from error
