"""What the results lack of a model: compilers through pytest, then in a bare script those that do not run there."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from model_coverage import ours, processes
from model_coverage.entries import Entry
from model_coverage.processes import Limits
from model_coverage.results import EXPORT, READ_PROGRAM, Result, Results

COMPILERS = ("identity", "torchscript", "inductor", "onnxruntime", "openvino", "tvm")
READ_ONNX = ("onnxruntime", "openvino", "tvm")
BARE = Path(__file__).with_name("bare.py")


def run_missing(
    entry: Entry, compilers: Sequence[str], results: Results, limits: Limits, *, bare_all: bool
) -> Iterator[Result]:
    """Run what the results lack of a model, and yield what was found.

    What runs through pytest-ngraph does so by the compiler's own interface, and needs no bare script to prove it: only
    the other compilers run in one, and `torch.export` only if no compiler ran that starts from an exported program.

    Args:
        bare_all: run all compilers in a bare script.
    """
    names = [name for name in compilers if entry.family != "onnx" or name in READ_ONNX]
    here = [name for name in names if not results.has(entry.family, entry.name, name, "ours")]
    if here:
        with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
            yield from ours.run(entry, here, Path(folder), limits)
    agree = {name for name in COMPILERS if results.agrees(entry.family, entry.name, name)}
    others = [name for name in names if bare_all or name not in agree]
    if entry.family != "onnx" and (bare_all or not agree.intersection(READ_PROGRAM)):
        others.append(EXPORT)
    for name in others:
        if not results.has(entry.family, entry.name, name, "bare"):
            yield _bare(entry, name, limits)


def _bare(entry: Entry, compiler: str, limits: Limits) -> Result:
    with tempfile.TemporaryDirectory(prefix="coverage-") as folder:
        finished = processes.run([sys.executable, str(BARE), compiler], entry.to_json(), Path(folder), limits)
    lines = [line for line in finished.output.splitlines() if line.startswith('{"outcome"')]
    found: dict[str, Any] = {"outcome": "fails", "stage": "", "reason": finished.problem or "no answer"}
    if finished.at_limit:
        found["outcome"] = "stopped"
    elif lines:
        found = json.loads(lines[-1])
    return Result(
        family=entry.family,
        model=entry.name,
        compiler=compiler,
        side="bare",
        outcome=found["outcome"],
        reason=f"{found['stage']}: {found['reason']}" if found["stage"] else found["reason"],
        seconds=round(finished.seconds, 1),
    )
