"""The judgement of airspeed velocity's `asv continuous --interleave-rounds`: the same rule, on runs of the same kind.

A benchmark got worse if its median time rose by more than the factor 1.1, and Mann and Whitney's U test finds the
samples different with p < 0.002 (`_is_result_better` in asv/commands/compare.py, `is_different` in asv/statistics.py).
Samples take about 10 ms and come from two rounds. Each round runs all benchmarks of one revision, then of the other, in
processes of their own (`sample_time`, `rounds`).
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gate_trials.cells import Cell
from gate_trials.models import Models
from gate_trials.repository import Repository
from gate_trials.results import Judgement

NAME = "asv"
FACTOR = 1.1
LEVEL = 0.002
ROUNDS = 2
SAMPLE_S = 0.01


def judge(repository: Repository, threads: int, seconds: Mapping[Cell, float]) -> list[Judgement]:
    """Return asv's judgement of the cells in `seconds`. The rounds of both revisions share these seconds evenly."""
    started = time.monotonic()
    cells = {number: cell for number, cell in repository.cells.items() if cell in seconds}
    samples: dict[tuple[int, Path], list[float]] = defaultdict(list)
    spent_s: dict[int, float] = defaultdict(float)
    revisions = repository.base, repository.head
    with ExitStack() as opened:
        models = {folder: opened.enter_context(Models(folder, threads)) for folder in revisions}
        for _ in range(ROUNDS):
            for folder in revisions:
                for number, cell in cells.items():
                    share_s = seconds[cell] / (ROUNDS * len(revisions))
                    taken, elapsed_s = _process(models[folder], cell, number, share_s)
                    samples[number, folder] += taken
                    spent_s[number] += elapsed_s
    wall_s = (time.monotonic() - started) / len(cells)
    return [
        _judgement(cell, samples[number, repository.base], samples[number, repository.head], spent_s[number], wall_s)
        for number, cell in cells.items()
    ]


def got_worse(base: Sequence[float], head: Sequence[float]) -> bool:
    """Return asv's verdict. `base` and `head` are seconds per iteration, one value a sample."""
    return statistics.median(head) > FACTOR * statistics.median(base) and mann_whitney(base, head) < LEVEL


def mann_whitney(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p-value of Mann and Whitney's U test.

    It uses the normal approximation, as asv does from 21 samples on.
    """
    above = np.array(one)[:, None] - np.array(other)[None, :]
    u = np.sum(above > 0) + np.sum(above == 0) / 2
    pairs = above.size
    deviation = math.sqrt(pairs * (len(one) + len(other) + 1) / 12)
    return math.erfc(abs(u - pairs / 2) / deviation / math.sqrt(2))


def _process(models: Models, cell: Cell, number: int, share_s: float) -> tuple[list[float], float]:
    """Return samples from one process, and the seconds that they took."""
    samples: list[float] = []
    spent_s = 0.0
    with models.worker() as worker:
        calls = math.ceil(SAMPLE_S / models.prepare(worker, cell.network, cell.compiler, number))
        while spent_s < share_s:
            elapsed_s = worker.request("measure", timeout_s=600, calls=calls)["elapsed_s"]
            samples.append(elapsed_s / calls)
            spent_s += elapsed_s
    return samples, spent_s


def _judgement(cell: Cell, base: Sequence[float], head: Sequence[float], spent_s: float, wall_s: float) -> Judgement:
    return Judgement(
        cell=cell,
        rule=NAME,
        verdict="regressed" if got_worse(base, head) else "unchanged",
        ratio=statistics.median(head) / statistics.median(base),
        measured_s=spent_s,
        wall_s=wall_s,
    )
