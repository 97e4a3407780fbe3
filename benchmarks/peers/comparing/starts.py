"""Seconds that pytest takes before the first test: to start, to print its help, to collect."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from markdown_output import table

from comparing import figures
from pytest_ngraph.metrics.text import number, with_interval
from pytest_ngraph.stats import Floats

FRAMEWORKS = ("numpy", "torch", "timm", "onnxruntime", "openvino", "tvm")
ARMS = {
    "pytest": ("-p", "no:ngraph", "-p", "no:benchmark"),
    "pytest-benchmark": ("-p", "no:ngraph"),
    "pytest-ngraph": (),
}
"""Options that load or leave out each plugin."""
NOTHING = dict.fromkeys(ARMS, "def test_nothing(): ...\n")
PARAMETRIZED = """
import pytest

@pytest.mark.parametrize("compiler", ["identity", "torchscript"])
@pytest.mark.parametrize("width", range({widths}))
@pytest.mark.parametrize("batch_size", range(10))
def test_case({fixture}compiler, width, batch_size): ...
"""
MARKED = """
import pytest

@pytest.mark.ngraph(
    workload="conv", depth=1, compiler=["identity", "torchscript"], width=range(1, {widths} + 1),
    batch_size=range(1, 11),
)
def test_case(measurement): ...
"""
COLLECTED = {
    "pytest": PARAMETRIZED.replace("{fixture}", ""),
    "pytest-benchmark": PARAMETRIZED.replace("{fixture}", "benchmark, "),
    "pytest-ngraph": MARKED,
}
IMPORTED = """
import sys, pytest
pytest.main({arguments!r})
print(", ".join(sorted(set({frameworks!r}) & set(sys.modules))) or "none")
"""
HEADING = (
    "seconds to", *ARMS, "pytest-ngraph over pytest", "pytest-ngraph over pytest-benchmark",
)  # fmt: skip


def find(parsed: argparse.Namespace) -> str:
    """Return a row for each action, and the frameworks that pytest with our plugin imports in it."""
    with tempfile.TemporaryDirectory(prefix="ngraph-starts-") as name:
        folder = Path(name)
        rows = [
            row("run a test that does nothing", timed(_written(folder / "run", NOTHING), (), parsed.rounds)),
            row("print its help", timed(_written(folder / "help", NOTHING), ("--help",), parsed.rounds)),
        ]
        for cases in parsed.cases:
            folders = _written(folder / str(cases), COLLECTED, widths=cases // 20)
            rows.append(row(f"collect {cases:,} cases", timed(folders, ("--collect-only", "-qq"), parsed.rounds)))
        found = {does: imported(folders["pytest-ngraph"], does) for does in ("--help", "--collect-only")}
    notes = [f"With `{does}`, of {', '.join(FRAMEWORKS)} it imports: {names}." for does, names in found.items()]
    return "\n\n".join([table(HEADING, rows), *notes])


def row(does: str, seconds: Mapping[str, Floats]) -> list[str]:
    """Return the row of an action. `seconds` has those of each arm, round by round; shape (rounds,) each."""
    ours = seconds["pytest-ngraph"]
    return [
        does,
        *(number(figures.median(own)) for own in seconds.values()),
        *(with_interval(figures.paired_ratio(ours, seconds[other])) for other in ("pytest", "pytest-benchmark")),
    ]


def timed(folders: Mapping[str, Path], options: Sequence[str], rounds: int) -> dict[str, Floats]:
    """Return the seconds of pytest runs in each arm's folder, in a new order every round.

    An untimed run of each comes first: it writes the bytecode that all later ones find.
    """
    seconds: dict[str, list[float]] = {arm: [] for arm in ARMS}
    order = random.Random(0)
    for arm in ARMS:
        pytest_s(folders[arm], *ARMS[arm], *options)
    for _ in range(rounds):
        for arm in order.sample(list(ARMS), len(ARMS)):
            seconds[arm].append(pytest_s(folders[arm], *ARMS[arm], *options))
    return {arm: np.array(own) for arm, own in seconds.items()}


def pytest_s(folder: Path, *options: str) -> float:
    """Return the seconds of a pytest run in a fresh process. Exit with its output if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return time.perf_counter() - started


def imported(folder: Path, *arguments: str) -> str:
    """Return which frameworks a pytest run has imported at its end."""
    code = IMPORTED.format(arguments=[*arguments], frameworks=FRAMEWORKS)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


def _written(folder: Path, texts: Mapping[str, str], **sizes: int) -> dict[str, Path]:
    """Create a folder for each arm, with its test file in it."""
    made = {arm: folder / arm for arm in ARMS}
    for arm, own in made.items():
        own.mkdir(parents=True)
        (own / "test_case.py").write_text(texts[arm].format(**sizes))
    return made
