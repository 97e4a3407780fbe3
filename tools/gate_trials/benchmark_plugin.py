"""The judgement of pytest-benchmark: one pytest run of the base, one of the head, compared by `--benchmark-compare`."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate_trials.cells import Cell
from gate_trials.pytest_run import output_of
from gate_trials.repository import Repository
from gate_trials.results import Judgement
from pytest_ngraph.bench.processes.worker_variables import bound_threads
from pytest_ngraph.machine.machine import this_machine

FIELDS = ("median", "mean")
LIMIT = "5%"
NAMES = tuple(f"{field}:{LIMIT}" for field in FIELDS)
CELL = re.compile(r"test_cell_(\d+)\[")
FAILED = re.compile(r"test_cell_(\d+)\[.* - Field '(\w+)' has failed")


def judge(repository: Repository, threads: int, rounds: Mapping[Cell, int]) -> list[Judgement]:
    """Return the judgements of both rules on the cells in `rounds`, with that number of rounds for base and head each.

    The time is not limited by `max_time`: pytest-benchmark divides it by the time of the fastest iterations, and takes
    several times as long on a busy machine.
    """
    repository.write_timed_tests(rounds)
    storage = repository.head.parent / "storage"
    files = {revision: storage.parent / f"{revision}.json" for revision in ("base", "head")}
    started = time.monotonic()
    _run(repository.base, threads, storage, files["base"], "--benchmark-save=base")
    comparing = ("--benchmark-compare=0001", "--benchmark-compare-fail", *NAMES)
    output = _run(repository.head, threads, storage, files["head"], *comparing)
    wall_s = (time.monotonic() - started) / len(rounds)
    failed = failures(output)
    base, head = (_statistics(file) for file in files.values())
    return [
        Judgement(
            cell=cell,
            rule=f"{field}:{LIMIT}",
            verdict="regressed" if (number, field) in failed else "unchanged",
            ratio=head[number][field] / base[number][field],
            measured_s=head[number]["total"] + base[number]["total"],
            wall_s=wall_s,
        )
        for number, cell in repository.cells.items()
        for field in FIELDS
        if number in base and number in head
    ]


def failures(output: str) -> set[tuple[int, str]]:
    """Return the cells and fields that pytest-benchmark calls a regression."""
    return {(int(number), field) for number, field in FAILED.findall(output)}


def _run(folder: Path, threads: int, storage: Path, file: Path, *options: str) -> str:
    """Run pytest and return its output."""
    return output_of(
        folder,
        "test_timed.py",
        f"--benchmark-json={file}",
        f"--benchmark-storage=file://{storage}",
        *options,
        environment=bound_threads(this_machine().cores[:threads]),
    )


def _statistics(file: Path) -> dict[int, dict[str, Any]]:
    """Return pytest-benchmark's statistics of each cell, by number."""
    benchmarks = json.loads(file.read_text())["benchmarks"]
    return {int(match[1]): each["stats"] for each in benchmarks if (match := CELL.match(each["name"]))}
