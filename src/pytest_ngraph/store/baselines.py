"""Stored baselines: runs of the store that are kept under a name, to compare later runs with.

`<store>/baselines/NAME/RUN.jsonl` is a run's journal, so the code that reads the store also reads baselines. A baseline
may hold several runs, which show how much runs differ. An anchored baseline does not change.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.record import Record
from pytest_ngraph.store import Outline, Run
from pytest_ngraph.store.lines import lines as lines_of
from pytest_ngraph.system.files import make_private, write_whole
from pytest_ngraph.wording import counted

LATEST = store.LATEST
"""The last run of the store that was measured without a base, whether kept as a baseline or not, except the run that is
being compared."""
FOLDER = "baselines"
ANCHOR = ".anchored"
"""The file that marks a baseline as anchored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Runs to compare later ones with, oldest first."""

    name: str
    runs: tuple[Run, ...]
    anchored: bool = False

    @property
    def label(self) -> str:
        """The name as shown to users: `baseline v1`."""
        return f"run {self.runs[-1].id}" if self.name == LATEST else f"baseline {self.name}"

    def ran(self, case: Case) -> bool:
        """Return whether the last run that measured or skipped the case measured it.

        A run in which it failed says nothing: else a case that crashes once would be missed by nobody afterwards.
        """
        outcomes = [record.outcome for run in self.runs for record in run.records if record.case == case]
        return next((each for each in reversed(outcomes) if each in ("measured", "skipped")), "") == "measured"

    @property
    def records(self) -> dict[Case, list[Record]]:
        """The records of each case in `measured`: one of every run that has any."""
        found: dict[Case, list[Record]] = {}
        for run in self.measured:
            for case, record in run.items():
                found.setdefault(case, []).append(record)
        return found

    @property
    def measured(self) -> list[dict[Case, Record]]:
        """The measured records of each run by case, the last one where it has several.

        Records measured alternately with a base are left out, because they ran under other conditions.
        """
        return [
            {r.case: r for r in run.records if r.outcome == "measured" and r.comparison is None} for run in self.runs
        ]


def check_name(name: str) -> str:
    """Return the name. Raise `UsageError` if it is not allowed for a baseline."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) or name == LATEST:
        raise UsageError(
            f"a baseline cannot be called {name!r}. Use letters, digits and .-_, beginning with a letter or a digit; "
            f"{LATEST} is taken, because it means the last run."
        )
    return name


def names(folder: Path) -> list[str]:
    """Return the names of the baselines in this store, sorted."""
    return sorted(path.name for path in (folder / FOLDER).glob("*") if store.run_ids(path))


def read(folder: Path, name: str, own: str = "") -> Baseline:
    """Return a baseline of the store.

    Args:
        folder: the store.
        name: the baseline, or `LATEST` for the last run that was measured without a base and is not `own`.
        own: the run to be compared.

    Raises:
        UsageError: there is no such baseline.
        StoreError: the baseline cannot be read.
    """
    place, runs = _runs(folder, name, own)
    read_run = store.read if name == LATEST else _whole
    return Baseline(name=name, runs=tuple(read_run(place, run) for run in runs), anchored=(place / ANCHOR).exists())


def outlined(folder: Path, name: str, own: str = "") -> tuple[Baseline, list[Outline]]:
    """Return a baseline whose runs are without their records, and the outlines of the runs. As `read` otherwise."""
    place, runs = _runs(folder, name, own)
    found = [store.outlined(place, run) for run in runs]
    if name != LATEST:
        for each in found:
            _check_undamaged(each.run)
    return Baseline(name=name, runs=tuple(each.run for each in found), anchored=(place / ANCHOR).exists()), found


def _runs(folder: Path, name: str, own: str) -> tuple[Path, list[str]]:
    """Return the folder of a baseline, and the ids of its runs there."""
    if name != LATEST:
        place = _existing(folder, name)
        return place, store.run_ids(place)
    earlier = [run for run in store.run_ids(folder) if run != own]
    if own and not earlier:
        raise UsageError(f"there is no run before {own} that {LATEST} could mean. Compare with a baseline by name.")
    if not earlier:
        return folder, [LATEST]
    last = next((run for run in reversed(earlier) if _has_times(folder, run)), None)
    if last is None:
        raise UsageError(
            f"no run in {folder} was measured without a base, which changes times, so {LATEST} has none to compare "
            "with. Run pytest once without --ngraph-against and --ngraph-history, or compare with a baseline by name."
        )
    return folder, [last]


def _has_times(folder: Path, run: str) -> bool:
    """Return whether a run has a record that `Baseline.measured` keeps. Reads no further than to the first."""
    found = (line.data or {} for line in lines_of(folder / (run + store.SUFFIX)))
    return any(data.get("outcome") == "measured" and data.get("comparison") is None for data in found)


def check_open(folder: Path, name: str) -> None:
    """Raise `UsageError` if no run can be added to this baseline."""
    _check_free(folder / FOLDER / check_name(name))


def keep(folder: Path, name: str, run: str) -> None:
    """Add a run of the store to a baseline. Create the baseline if there is none of this name."""
    check_open(folder, name)
    target = folder / FOLDER / name / (run + store.SUFFIX)
    journal = folder / target.name
    try:
        text = journal.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot save {journal} as baseline {name}: {error.strerror}.") from error
    _whole(folder, run)
    try:
        make_private(target.parent)
    except OSError as error:
        raise StoreError(f"cannot save {journal} as baseline {name}: {error.strerror}.") from error
    write_whole(target, text)


def bless(folder: Path, name: str, *, anchored: bool = True) -> None:
    """Anchor a baseline, or release it again."""
    mark = _existing(folder, name) / ANCHOR
    if anchored:
        mark.touch()
    else:
        mark.unlink(missing_ok=True)


def remove(folder: Path, name: str) -> None:
    """Remove a baseline, but not the store's own runs. Raise `UsageError` for an anchored one."""
    path = _existing(folder, name)
    _check_free(path)
    try:
        shutil.rmtree(path)
    except OSError as error:
        raise StoreError(f"cannot remove baseline {name}: {error}.") from error


def export(folder: Path, name: str, file: Path) -> int:
    """Write a baseline's journals, one after another, into one new file. Return how many."""
    path = _existing(folder, name)
    if file.exists():
        raise UsageError(f"{file} exists. Give another file, or delete it first.")
    runs = store.run_ids(path)
    write_whole(file, b"".join(_ended((path / (run + store.SUFFIX)).read_bytes()) for run in runs))
    return len(runs)


def import_from(file: Path, folder: Path, name: str) -> int:
    """Make a baseline of a file that `export` wrote, if every line of it can be read. Return how many runs it has.

    Raises:
        UsageError: the name is taken.
        StoreError: the file is not an exported baseline.
    """
    target = folder / FOLDER / check_name(name)
    if target.exists():
        raise UsageError(f"baseline {name} exists. Give another name: pytest-ngraph baseline import {file} NAME.")
    try:
        lines = file.read_bytes().splitlines(keepends=True)
        make_private(target.parent)
    except OSError as error:
        raise StoreError(f"cannot import {file}: {error.strerror}.") from error
    with tempfile.TemporaryDirectory(prefix=".importing-", dir=target.parent) as scratch:
        staged = Path(scratch, name)
        make_private(staged)
        for run, text in _split(file, lines):
            (staged / (run + store.SUFFIX)).write_bytes(text)
            _whole(staged, run)
        staged.rename(target)
    return len(store.run_ids(target))


def _check_free(path: Path) -> None:
    if (path / ANCHOR).exists():
        raise UsageError(
            f"baseline {path.name} is anchored and does not change, so that many small slowdowns add up to one that is "
            f"seen. Save under another name, or release it: pytest-ngraph baseline bless --undo {path.name}."
        )


def _existing(folder: Path, name: str) -> Path:
    known = names(folder)
    if name not in known:
        hint = "--ngraph-save=NAME makes one." if not known else ""
        raise UsageError.unknown("baseline", name, known, hint)
    return folder / FOLDER / name


def _whole(folder: Path, run: str) -> Run:
    """Return a run. Raise `StoreError` if a line of it cannot be read."""
    found = store.read(folder, run)
    _check_undamaged(found)
    return found


def _check_undamaged(found: Run) -> None:
    if found.damaged:
        raise StoreError(
            f"run {found.id} has {counted(found.damaged, 'damaged line')}, from which no record can be read: "
            f"{'; '.join(found.dropped)}."
        )


def _split(file: Path, lines: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the journals in a file's lines, by the id of their run. Each begins with the line that describes it."""
    described = {i: _decoded(line) for i, line in enumerate(lines) if b'"schema"' in line}
    headers = [i for i, data in described.items() if "schema" in data and not data.get("resumed")]
    if not headers or headers[0] != 0:
        raise StoreError(f"{file} is not an exported baseline: its first line does not describe a run.")
    seen = set()
    for start, end in zip(headers, [*headers[1:], len(lines)], strict=True):
        run = str(_decoded(lines[start]).get("run"))
        if not re.fullmatch(r"[0-9-]+", run) or run in seen:
            raise StoreError(f"{file}, line {start + 1}: {run!r} is not the id of a run, or it appears twice.")
        seen.add(run)
        yield run, b"".join(lines[start:end])


def _decoded(line: bytes) -> dict[str, object]:
    try:
        data = json.loads(line)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _ended(text: bytes) -> bytes:
    """Return the text with a newline at its end."""
    return text if text.endswith(b"\n") else text + b"\n"
