"""How many rows in excess make a slowdown of so many percent: found by measuring, head and base in turn."""

from __future__ import annotations

import itertools
import math
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

FIRST_ROWS = (16, 64, 240)
"""Tried before anything is known."""
LAUNCHES = 6
QUADS = 60
"""Of each build: base, head, head, base."""
TOLERANCE = 0.1
"""Of the slowdown that is wanted."""
MOST_TRIES = 3

Found = dict[int, list[float]]
"""For each number of rows, the log ratio of head's time over base's in each launch."""


def calibrate(network: str, compiler: str, threads: int, slowdowns_percent: Sequence[float]) -> list[Injection]:
    """What to inject into a network for each slowdown. Takes a quiet machine and about a minute."""
    with tempfile.TemporaryDirectory(prefix="ngraph-trials-") as folder, Models(Path(folder), threads) as models:

        def measured(rows: Sequence[int], launches: int) -> Found:
            write_networks(Path(folder), {count: Version(seed=int(count > 0), rows=count) for count in (0, *rows)})
            found: Found = {count: [] for count in rows}
            for _ in range(launches):
                for count, ratio in _launch(models, network, compiler, rows).items():
                    found[count].append(ratio)
            return found

        found = measured(FIRST_ROWS, 1)
        chosen = {slowdown: rows_for(slowdown, found) for slowdown in slowdowns_percent}
        for _ in range(MOST_TRIES):
            new = sorted({rows for rows in chosen.values() if len(found.get(rows, ())) < LAUNCHES})
            if not new:
                break
            found |= measured(new, LAUNCHES)
            chosen = {s: rows if is_near(s, found[rows]) else rows_for(s, found) for s, rows in chosen.items()}
        # The last choice may not be measured yet; then what comes nearest is taken.
        thorough = {rows: ratios for rows, ratios in found.items() if len(ratios) >= LAUNCHES}
    return [
        _injection(network, compiler, threads, slowdown, rows, slowdown_percent(thorough[rows]))
        for slowdown in slowdowns_percent
        for rows in [min(thorough, key=lambda rows: abs(slowdown_percent(thorough[rows]).value - slowdown))]
    ]


def rows_for(wanted_percent: float, found: Mapping[int, Sequence[float]]) -> int:
    """The rows that a straight line through what was measured gives, what is near the wanted slowdown counting most."""
    wanted = math.log1p(wanted_percent / 100)
    rows = list(found)
    ratios = np.array([statistics.mean(found[count]) for count in rows])
    weights = np.sqrt([len(found[count]) for count in rows]) / (0.002 + np.abs(ratios - wanted))
    slope, intercept = map(float, np.polyfit(rows, ratios, 1, w=weights))
    if slope <= 0:
        raise RuntimeError(f"more rows do not take longer ({found}): calibrate on a quiet machine")
    return max(1, round((wanted - intercept) / slope))


def is_near(wanted_percent: float, ratios: Sequence[float]) -> bool:
    """Whether these launches show the wanted slowdown, within a tenth of it."""
    return abs(slowdown_percent(ratios).value - wanted_percent) <= TOLERANCE * wanted_percent


def slowdown_percent(ratios: Sequence[float]) -> Estimate:
    """The slowdown with its 95 % interval (Student's t over launches, at least two)."""
    mean = statistics.mean(ratios)
    margin = t_quantile(0.025, len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return Estimate(*(100 * math.expm1(value) for value in (mean, mean - margin, mean + margin)))


def _launch(models: Models, network: str, compiler: str, rows: Sequence[int]) -> dict[int, float]:
    """Log ratios from one process: the mean of building base first and head first, which favours neither."""
    with models.worker() as worker:
        ratios = dict.fromkeys(rows, 0.0)
        for count, order in itertools.product(rows, ((BASE, HEAD), (HEAD, BASE))):
            for arm in order:
                models.prepare(worker, network, compiler, count if arm == HEAD else 0, arm)
            answer = worker.request("compare", timeout_s=600, calls=1, quads=QUADS)
            worker.request("release", timeout_s=60, kind="cpu")
            quads = tuple(Quad(*map(tuple, quad)) for quad in answer["quads"])
            build = Build(rounds=(PairedRound(quads=quads, elapsed_s=answer["wall_s"]),))
            ratios[count] += effect(Launch(builds=(build,), iterations=1, fresh=True)).log_ratio / 2
    return ratios


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
