"""Results of other tools, as summaries: pytest-benchmark's JSON (`pytest_benchmark.py`) and asv's results (`asv.py`).

They are seconds that were not measured beside an anchor. So their steps may be the machine's, and fail nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph.errors import UsageError
from pytest_ngraph.history import summary
from pytest_ngraph.history.imports import asv, pytest_benchmark
from pytest_ngraph.history.series import IMPORTED
from pytest_ngraph.history.summary import Origin, Summary
from pytest_ngraph.store import SUFFIX
from pytest_ngraph.store.journal import keep_out_of_git
from pytest_ngraph.store.run import SUMMARIES
from pytest_ngraph.wording import counted

READERS = {"pytest-benchmark": pytest_benchmark, "asv": asv}
Result = tuple[Origin, Summary, str]
"""A result, and the version of its benchmark; empty where the tool keeps none."""
BESIDE_RESULTS = ("benchmarks.json", "machine.json")
"""Files of asv that lie beside its results and have none."""


def take(paths: Sequence[Path], store: Path) -> Iterator[str]:
    """Import files, and all files in folders; yield what became of each. A file that was imported before is replaced.

    Of a benchmark that was changed, only results of its newest version are imported: the others measured other code.

    Raises:
        UsageError: there is no such file, or none of them can be imported.
    """
    files = [file for path in paths for file in _files(path)]
    taken: list[tuple[Path, str, str, list[Result]]] = []
    for file in files:
        try:
            taken.append((file, *_read(file)))
        except UsageError as error:
            if file in paths:
                raise
            yield f"left out: {error}"
    newest = _newest_versions(result for *_, results in taken for result in results)
    for file, tool, event, results in taken:
        # The same event has the same name, whatever the file is called.
        name = f"{IMPORTED}{hashlib.sha256(event.encode()).hexdigest()[:16]}"
        kept = [(origin, found) for origin, found, version in results if version in ("", newest.get(found.case_id))]
        summary.write(
            store / SUMMARIES / (name + SUFFIX),
            [(Origin(run=name, environment=o.environment, source=o.source), found) for o, found in kept],
        )
        earlier = len(results) - len(kept)
        without = f", without {earlier:,} of an earlier version of its benchmark" if earlier else ""
        yield f"{file}: {counted(len(kept), 'result')} of {tool}{without}"
    if not taken:
        raise UsageError(
            f"nothing to import in {', '.join(map(str, paths))}. Give JSON files of {' or '.join(READERS)}."
        )
    keep_out_of_git(store)


def _newest_versions(results: Iterable[Result]) -> dict[str, str]:
    """Return the version that each benchmark has in its latest result."""
    by_time = sorted(results, key=lambda result: result[1].started_at)
    return {found.case_id: version for _, found, version in by_time if version}


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in sorted(path.rglob("*.json")) if file.name not in BESIDE_RESULTS]
    if not path.exists():
        raise UsageError(f"there is no file {path}. Give a JSON file of {' or '.join(READERS)}, or a folder of them.")
    return [path]


def _read(file: Path) -> tuple[str, str, list[Result]]:
    """Return the tool that wrote a file, the event that it is of, and its results.

    Raises:
        UsageError: any other file.
    """
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{file} cannot be read as JSON: {error}.") from None
    for tool, reader in READERS.items():
        if isinstance(data, dict) and reader.wrote(data):
            try:
                return tool, reader.event(data, file), list(reader.results(data, file))
            except (KeyError, TypeError, ValueError, ArithmeticError, IndexError, AttributeError) as error:
                raise UsageError(
                    f"{file} looks like results of {tool}, but cannot be read: {type(error).__name__}: {error}."
                ) from None
    raise UsageError(f"{file} has no results of {' or '.join(READERS)}. Give a file that one of them wrote.")
