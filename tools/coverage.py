"""Count how many models run under each compiler, through pytest-ngraph and in a bare script.

python tools/coverage.py                                   # every family; takes hours
python tools/coverage.py --family transformers --minutes 30
python tools/coverage.py --write                           # and write the tables into docs/coverage.md

Nothing is measured: each model is built, exported, compiled, verified and run once at batch size 1. What was found is
kept in a file, so that a run that was ended goes on where it stopped, and `--minutes=0` only makes the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_output import ROOT, publish
from model_coverage import ours, processes, tables
from model_coverage.entries import FAMILIES, Entry, entries
from model_coverage.results import Result, Results

from pytest_ngraph.machine import machine

PAGE = ROOT / "docs" / "coverage.md"
FOLDER = ROOT / ".ngraph" / "coverage"
BARE = Path(__file__).parent / "model_coverage" / "bare.py"
COMPILERS = ("identity", "torchscript", "inductor", "onnxruntime", "openvino", "tvm")
READ_ONNX = ("onnxruntime", "openvino", "tvm")
EXPORT = "export"


def main() -> None:
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = Results(options.folder / "results.jsonl")
    listed = entries(options.family, options.folder)
    ends = time.monotonic() + 60 * options.minutes
    for number, entry in enumerate(listed, 1):
        if time.monotonic() > ends:
            break
        for result in _missing(entry, results, options):
            results.add(result)
            print(f"[{number}/{len(listed)}] {_in_words(result)}", file=sys.stderr, flush=True)
    counts = {family: sum(entry.family == family for entry in listed) for family in options.family}
    found = tables.page([result for result in results.all() if result.family in counts], counts)
    publish(machine.environment(), found, "coverage" if options.write else "", PAGE)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", action="append", choices=FAMILIES, help="default: all")
    parser.add_argument("--compiler", default=",".join(COMPILERS), help="several are separated by commas")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="start no further model after these")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one model under one compiler")
    parser.add_argument("--memory", type=float, default=8, help="GiB for one process")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are kept")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.name}")
    options = parser.parse_args()
    options.family = options.family or list(FAMILIES)
    options.compiler = options.compiler.split(",")
    return options


def _missing(entry: Entry, results: Results, options: argparse.Namespace) -> Iterator[Result]:
    """Run what the results lack of a model, and yield what was found."""
    names = [name for name in options.compiler if entry.family != "onnx" or name in READ_ONNX]
    here = [name for name in names if (entry.family, entry.name, name, "ours") not in results]
    memory_bytes = int(options.memory * 2**30)
    if here:
        with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
            yield from ours.run(entry, here, Path(folder), options.timeout, memory_bytes)
    for name in [*names, *([EXPORT] if entry.family != "onnx" else [])]:
        if (entry.family, entry.name, name, "bare") not in results:
            yield _bare(entry, name, options.timeout, memory_bytes)


def _bare(entry: Entry, compiler: str, timeout_s: float, memory_bytes: int) -> Result:
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        finished = processes.run(
            [sys.executable, str(BARE), compiler],
            given=entry.to_json(),
            folder=Path(folder),
            timeout_s=timeout_s,
            memory_bytes=memory_bytes,
        )
    lines = [line for line in finished.output.splitlines() if line.startswith('{"outcome"')]
    found: dict[str, Any] = (
        json.loads(lines[-1]) if lines else {"outcome": "fails", "stage": "", "reason": finished.problem or "no answer"}
    )
    return Result(
        family=entry.family,
        model=entry.name,
        compiler=compiler,
        side="bare",
        outcome=found["outcome"],
        reason=f"{found['stage']}: {found['reason']}" if found["stage"] else found["reason"],
        seconds=round(finished.seconds, 1),
    )


def _in_words(result: Result) -> str:
    reason = f": {result.reason}" if result.reason else ""
    return f"{result.family} {result.model} {result.compiler} {result.side} {result.outcome}{reason}"[:200]


if __name__ == "__main__":
    main()
