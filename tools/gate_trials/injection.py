"""How many rows in excess make a slowdown of so many percent: found by measuring, head and base in turn."""

from __future__ import annotations

import itertools
import math
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from gate_trials.models import Models
from gate_trials.repository import Version, write_networks
from gate_trials.results import Injection
from pytest_ngraph.comparison import BASE, HEAD, Build, Launch, PairedRound, Quad
from pytest_ngraph.gate.launches import effect
from pytest_ngraph.gate.student import t_quantile
from pytest_ngraph.stats import Estimate

ROWS = (24, 48, 96, 192)
"""Tried: 1 to 8 %."""
LAUNCHES = 10
QUADS = 60
"""Of each build: base, head, head, base."""

Line = Sequence[float]
"""Slope and intercept of the log ratio of head's time over base's, over the rows in excess."""


def calibrate(network: str, compiler: str, threads: int, slowdowns_percent: Sequence[float]) -> list[Injection]:
    """What to inject into a network for each slowdown. Takes a quiet machine and some two minutes."""
    with tempfile.TemporaryDirectory(prefix="ngraph-trials-") as folder, Models(Path(folder), threads) as models:
        write_networks(Path(folder), {count: Version(seed=int(count > 0), rows=count) for count in (0, *ROWS)})
        lines = [_line(_launch(models, network, compiler)) for _ in range(LAUNCHES)]
    mean = np.mean(lines, axis=0)
    chosen = {slowdown: rows_for(slowdown, mean) for slowdown in slowdowns_percent}
    return [
        _injection(network, compiler, threads, slowdown, rows, slowdown_percent([_ratio(line, rows) for line in lines]))
        for slowdown, rows in chosen.items()
    ]


def rows_for(wanted_percent: float, line: Line) -> int:
    """How many rows make that slowdown."""
    slope, intercept = line
    if slope <= 0:
        raise RuntimeError(f"more rows do not take longer ({slope} per row): calibrate on a quiet machine")
    return max(1, round((math.log1p(wanted_percent / 100) - intercept) / slope))


def slowdown_percent(ratios: Sequence[float]) -> Estimate:
    """The slowdown with its 95 % interval (Student's t over launches, at least two)."""
    mean = statistics.mean(ratios)
    margin = t_quantile(0.025, len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return Estimate(*(100 * math.expm1(value) for value in (mean, mean - margin, mean + margin)))


def _launch(models: Models, network: str, compiler: str) -> dict[int, float]:
    """Log ratios from one process, by rows: the mean of building base first and head first, which favours neither."""
    with models.worker() as worker:
        ratios = dict.fromkeys(ROWS, 0.0)
        for count, order in itertools.product(random.sample(ROWS, len(ROWS)), ((BASE, HEAD), (HEAD, BASE))):
            for arm in order:
                models.prepare(worker, network, compiler, count if arm == HEAD else 0, arm)
            answer = worker.request("compare", timeout_s=600, calls=1, quads=QUADS)
            worker.request("release", timeout_s=60, kind="cpu")
            quads = tuple(Quad(*map(tuple, quad)) for quad in answer["quads"])
            build = Build(rounds=(PairedRound(quads=quads, elapsed_s=answer["wall_s"]),))
            ratios[count] += effect(Launch(builds=(build,), iterations=1, fresh=True)).log_ratio / 2
    return ratios


def _line(ratios: Mapping[int, float]) -> Line:
    slope, intercept = np.polyfit(list(ratios), list(ratios.values()), 1)
    return float(slope), float(intercept)


def _ratio(line: Line, rows: int) -> float:
    slope, intercept = line
    return slope * rows + intercept


def _injection(network: str, compiler: str, threads: int, slowdown: float, rows: int, measured: Estimate) -> Injection:
    return Injection(
        network=network,
        compiler=compiler,
        threads=threads,
        slowdown_percent=slowdown,
        rows=rows,
        true_percent=measured.value,
        low_percent=measured.low,
        high_percent=measured.high,
    )
