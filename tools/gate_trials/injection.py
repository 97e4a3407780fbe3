"""Find how many excess rows cause a given slowdown, by measuring head and base alternately."""

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
from pytest_ngraph.metrics.student import t_quantile
from pytest_ngraph.stats import Estimate

ROWS = (24, 48, 96, 192)
"""Numbers of excess rows to measure: slowdowns of 1 to 8 %."""
LAUNCHES = 10
QUADS = 60
"""Quads of each build: base, head, head, base."""

Curve = Sequence[float]
"""Two coefficients of the log ratio of the head's time over the base's: of the excess rows, and of their square, as
caches fill up. Without excess rows both compute the same."""


def calibrate(network: str, compiler: str, threads: int, slowdowns_percent: Sequence[float]) -> list[Injection]:
    """Return what to inject into a network for each slowdown. Needs a quiet machine and about two minutes."""
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
    """Return the least-squares curve through log ratios by rows."""
    rows = np.array(list(ratios), dtype=float)
    curve, *_ = np.linalg.lstsq(np.stack([rows, rows**2], axis=1), np.array(list(ratios.values())), rcond=None)
    return [float(value) for value in curve]


def rows_for(wanted_percent: float, curve: Curve) -> int:
    """Return the number of rows that comes nearest to that slowdown."""
    if _ratio(curve, ROWS[-1]) <= 0:
        raise RuntimeError(f"{ROWS[-1]} more rows do not take longer. Calibrate on a quiet machine.")
    return min(range(1, 2 * ROWS[-1]), key=lambda rows: abs(_ratio(curve, rows) - math.log1p(wanted_percent / 100)))


def slowdown_percent(ratios: Sequence[float]) -> Estimate:
    """Return the slowdown with its 95 % interval (Student's t over launches, at least two)."""
    mean = statistics.mean(ratios)
    margin = t_quantile(0.025, len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return Estimate(*(100 * math.expm1(value) for value in (mean, mean - margin, mean + margin)))


def _launch(models: Models, network: str, compiler: str) -> dict[int, float]:
    """Return log ratios from one process, by rows.

    Each is the mean of building base first and head first, so that neither is favoured.
    """
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
