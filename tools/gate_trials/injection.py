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

Curve = Sequence[float]
"""How the log ratio of head's time over base's grows with the rows in excess: with them, and with their square, as
caches fill up. Without any, both compute the same."""


def calibrate(network: str, compiler: str, threads: int, slowdowns_percent: Sequence[float]) -> list[Injection]:
    """What to inject into a network for each slowdown. Takes a quiet machine and some two minutes."""
    with tempfile.TemporaryDirectory(prefix="ngraph-trials-") as folder, Models(Path(folder), threads) as models:
        write_networks(Path(folder), {count: Version(seed=int(count > 0), rows=count) for count in (0, *ROWS)})
        curves = [curve_through(_launch(models, network, compiler)) for _ in range(LAUNCHES)]
    mean = np.mean(curves, axis=0)
    chosen = {slowdown: rows_for(slowdown, mean) for slowdown in slowdowns_percent}
    return [
        _injection(
            network, compiler, threads, slowdown, rows, slowdown_percent([_ratio(curve, rows) for curve in curves])
        )
        for slowdown, rows in chosen.items()
    ]


def curve_through(ratios: Mapping[int, float]) -> Curve:
    """Least squares through log ratios, by rows."""
    rows = np.array(list(ratios), dtype=float)
    curve, *_ = np.linalg.lstsq(np.stack([rows, rows**2], axis=1), np.array(list(ratios.values())), rcond=None)
    return [float(value) for value in curve]


def rows_for(wanted_percent: float, curve: Curve) -> int:
    """How many rows come nearest to that slowdown."""
    if _ratio(curve, ROWS[-1]) <= 0:
        raise RuntimeError(f"{ROWS[-1]} more rows do not take longer: calibrate on a quiet machine")
    return min(range(1, 2 * ROWS[-1]), key=lambda rows: abs(_ratio(curve, rows) - math.log1p(wanted_percent / 100)))


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


def _ratio(curve: Curve, rows: int) -> float:
    linear, square = curve
    return linear * rows + square * rows**2


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
