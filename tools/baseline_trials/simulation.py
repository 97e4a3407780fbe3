"""Runs of unchanged code, simulated: the logarithms of their times are normal."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baseline_trials.tally import ALONE, RATIO, TIME, WAYS, Tally
from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import Pooled, departure
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS, BetweenRuns
from pytest_ngraph.stats import Floats

ARMS = 4
"""Cases of a group, identity first. A case alone has identity beside it, which is not judged."""
ERROR_WITHIN = 0.001
SHARED = 0.5
"""The share of the variance between runs that is the machine's speed, and equal for all cases of a run."""


def tallies(cases: int, kept: int, spread: float, unequal: float, trials: int) -> dict[str, Tally]:
    """Return what came of each way of judging.

    Args:
        cases: number of cases.
        kept: number of the baseline's runs.
        spread: standard deviation of a case's log time from run to run.
        unequal: degrees of freedom of the cases' own variances; infinite where all spread equally.
        trials: number of runs that are judged, each against a baseline of its own.
    """
    random = np.random.default_rng((cases, kept))
    found = {way: Tally() for way in WAYS}
    for _ in range(trials):
        for way, distances in _judged(_times(random, cases, kept + 1, spread, unequal), alone=cases == 1).items():
            found[way].add(distances)
    return found


def _times(random: np.random.Generator, cases: int, runs: int, spread: float, unequal: float) -> Floats:
    """Return log times; shape (cases, runs)."""
    count = max(cases, 2)
    own = np.full(count, spread * math.sqrt(1 - SHARED))
    if math.isfinite(unequal):  # scaled so that the mean variance stays
        own *= np.sqrt((unequal - 2) / random.chisquare(unequal, count))
    times: Floats = random.normal(0, own[:, None], (count, runs)) + random.normal(0, spread * math.sqrt(SHARED), runs)
    return times + random.normal(0, ERROR_WITHIN, times.shape)


def _judged(times: Floats, *, alone: bool) -> dict[str, list[Pooled]]:
    """Return the distances of the last run from the others, of all cases; alone, of the last case."""
    identities = times[np.arange(len(times)) // ARMS * ARMS]
    rows = [len(times) - 1] if alone else range(len(times))
    compiled = [row for row in rows if row % ARMS]
    ratios = _effects(times - identities, math.sqrt(2), compiled)
    of_times = _effects(times, 1.0, rows)
    together = BetweenRuns(_stored(of_times), dict.fromkeys(of_times, 0))
    relative = BetweenRuns(_stored(ratios), {row: row // ARMS for row in ratios})
    in_time = {row: together.departure(row, own[-1], own[:-1]) for row, own in of_times.items()}
    over = {row: relative.departure(row, own[-1], own[:-1]) for row, own in ratios.items()}
    return {
        ALONE: [departure(own[-1], own[:-1], BETWEEN_RUNS) for own in of_times.values()],
        TIME: list(in_time.values()),
        RATIO: list((in_time | over).values()),  # identity itself is judged in time
    }


def _effects(logs: Floats, errors: float, rows: Sequence[int]) -> dict[int, list[Effect]]:
    return {row: [Effect(log, errors * ERROR_WITHIN) for log in logs[row].tolist()] for row in rows}


def _stored(effects: dict[int, list[Effect]]) -> dict[int, dict[int, Effect]]:
    """Return the effects of the baseline's runs: all but the last."""
    return {row: dict(enumerate(own[:-1])) for row, own in effects.items()}
