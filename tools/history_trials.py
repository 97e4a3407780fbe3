"""How many steps a history finds, and how many it makes up: simulated nights, with the truth known.

    python tools/history_trials.py [--quick]
    python tools/history_trials.py --page=DIR

Every night, the machine is faster or slower by chance, drifts, and is exchanged now and then; each case also has noise
of its own. In some series, a commit makes the case slower or faster. The same nights are given to `pytest_ngraph`
(ratios to an anchor, measured beside it), to change-point detection on the seconds (ours, and Apache Otava and ruptures
where they are installed), and to a rule that compares a night with the mean of the week before.

With `--page`, a page of 400 series of 365 nights is written, and opened in Chromium.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import history_page
import numpy as np

from pytest_ngraph.history.levels import Chain
from pytest_ngraph.history.steps import LEVEL, find
from pytest_ngraph.stats import Floats

SIZES = (0.01, 0.02, 0.03, 0.05, 0.10)
"""Steps that are injected, as shares, to slower and to faster."""
SESSION, DRIFT, OWN = 0.04, 0.01, 0.015
"""Standard deviations of logarithms: of a night's machine, of its drift from night to night (which reverts by a tenth),
and of each case in a night. Unchanged code was seen to differ by 3 to 14 % from night to night."""
EXCHANGES, EXCHANGE, OF_CASES = 2, 0.10, 0.05
"""Exchanges of the machine in a year; and, as standard deviations, what one changes in all cases, and in each."""
RATIO, OTHER_MACHINE = (0.002, 0.005), 0.001
"""Standard errors of a night's ratio, from and to; and how much a ratio itself differs on another machine."""
NEAR = 7
"""Nights by which a step may be misplaced."""
THRESHOLDS = (0.05, 0.10)


@dataclass(frozen=True)
class Nights:
    """Nights of several series.

    Attributes:
        seconds: logarithms, shape (series, nights).
        ratios: logarithms of times over the anchor's, measured beside it.
        errors: standard errors of the ratios.
        steps: for each series, the night of its step and its size; None for none.
    """

    seconds: Floats
    ratios: Floats
    errors: Floats
    steps: list[tuple[int, float] | None]


def simulate(series: int, nights: int, seed: int, exchanges: int = EXCHANGES) -> Nights:
    """Return simulated nights. A step is in every other series; the machine is exchanged so many times."""
    random = np.random.default_rng(seed)
    drift = np.zeros(nights)
    for night in range(1, nights):
        drift[night] = 0.9 * drift[night - 1] + random.normal(0, DRIFT)
    machine = np.tile(drift + random.normal(0, SESSION, nights), (series, 1))
    own = np.zeros((series, nights))
    for night in random.integers(nights // 10, nights, exchanges):
        machine[:, night:] += random.normal(0, EXCHANGE) + random.normal(0, OF_CASES, series)[:, None]
        own[:, night:] += random.normal(0, OTHER_MACHINE, series)[:, None]
    truth = np.zeros((series, nights))
    steps: list[tuple[int, float] | None] = [None] * series
    for number in range(0, series, 2):
        size = float(np.log1p(SIZES[(number // 2) % len(SIZES)]) * random.choice([1, -1]))
        night = int(random.integers(nights // 10, nights - nights // 10))
        truth[number, night:] = size
        steps[number] = (night, size)
    errors = random.uniform(*RATIO, (series, nights))
    return Nights(
        seconds=machine + truth + random.normal(0, OWN, (series, nights)),
        ratios=truth + own + random.normal(0, errors),
        errors=errors,
        steps=steps,
    )


Found = list[list[tuple[int, float]]]
"""For each series, nights and signs of the steps that were found."""


def ours(nights: Nights) -> Found:
    chains = [Chain(*each) for each in zip(nights.ratios, nights.errors, strict=True)]
    return [[(step.place, step.change.value) for step in steps] for steps in find(chains, LEVEL)]


def ours_on_seconds(nights: Nights) -> Found:
    chains = [Chain(each, None) for each in nights.seconds]
    return [[(step.place, step.change.value) for step in steps] for steps in find(chains, LEVEL)]


def otava(nights: Nights) -> Found:
    """Apache Otava's `compute_change_points`, with its own settings."""
    analysis = importlib.import_module("otava.analysis")

    def steps(series: Floats) -> list[tuple[int, float]]:
        seconds = np.exp(series).tolist()  # of an array, it takes no windows
        found, _ = analysis.compute_change_points(seconds, window_len=50, max_pvalue=0.001, min_magnitude=0.0)
        return _with_signs(series, [each.index for each in found])

    return [steps(series) for series in nights.seconds]


def ruptures(nights: Nights) -> Found:
    """PELT of the package ruptures (Killick et al. 2012), with the penalty of BIC and the noise from differences."""
    package = importlib.import_module("ruptures")

    def steps(series: Floats) -> list[tuple[int, float]]:
        scale = float(np.median(np.abs(np.diff(series)))) / 0.6745 / np.sqrt(2)
        algorithm = package.Pelt(model="l2", min_size=2, jump=1).fit(series / scale)
        return _with_signs(series, algorithm.predict(pen=2 * np.log(len(series)))[:-1])

    return [steps(series) for series in nights.seconds]


def rule(threshold: float) -> Callable[[Nights], Found]:
    """Return the rule that reports a night which differs by more than a threshold from the week before's mean."""

    def alarms(series: Floats) -> list[tuple[int, float]]:
        seconds = np.exp(series)
        found = []
        for night in range(7, len(series)):
            change = float(np.log(seconds[night] / np.mean(seconds[night - 7 : night])))
            if abs(change) > np.log1p(threshold):
                found.append((night, change))
        return found

    return lambda nights: [alarms(series) for series in nights.seconds]


def _with_signs(series: Floats, places: Sequence[int]) -> list[tuple[int, float]]:
    bounds = [0, *places, len(series)]
    return [
        (place, float(np.mean(series[place : bounds[i + 2]]) - np.mean(series[bounds[i] : place])))
        for i, place in enumerate(places)
    ]


def methods() -> dict[str, Callable[[Nights], Found]]:
    """Return what is tried. Packages that are not installed are left out."""
    found: dict[str, Callable[[Nights], Found]] = {"ratios to an anchor (`pytest-ngraph history`)": ours}
    found["the same detection on seconds"] = ours_on_seconds
    for name, title, method in (("otava.analysis", "Apache Otava", otava), ("ruptures", "ruptures (PELT)", ruptures)):
        with suppress(ImportError):
            importlib.import_module(name)
            found[f"{title} on seconds"] = method
    for threshold in THRESHOLDS:
        found[f"seconds {100 * threshold:.0f} % beyond last week's mean"] = rule(threshold)
    return found


def table(trials: int, series: int, nights: int) -> str:
    """Return a table of what each method finds: steps by their size, and alarms where there is no step."""
    sizes = " | ".join(f"{100 * size:.0f} %" for size in SIZES)
    heading = f"| method | {sizes} | false alarms a series and year | the same on one machine |"
    lines = [heading, f"| --- |{' --- |' * (len(SIZES) + 2)}"]
    years = trials * series * nights / 365
    for title, method in methods().items():
        hits: dict[float, list[bool]] = {size: [] for size in SIZES}
        false = {EXCHANGES: 0, 0: 0}
        for seed, exchanges in product(range(trials), false):
            trial = simulate(series, nights, seed, exchanges)
            for number, (step, found) in enumerate(zip(trial.steps, method(trial), strict=True)):
                near = [each for each in found if step and abs(each[0] - step[0]) <= NEAR and each[1] * step[1] > 0]
                false[exchanges] += len(found) - len(near)
                if step and exchanges:
                    hits[SIZES[(number // 2) % len(SIZES)]].append(bool(near))
        shares = " | ".join(f"{100 * np.mean(hits[size]):.0f} %" for size in SIZES)
        lines.append(f"| {title} | {shares} | {false[EXCHANGES] / years:.3g} | {false[0] / years:.3g} |")
    return "\n".join(lines)


def delays(trials: int, series: int, nights: int) -> str:
    """Return a table of how many nights after a step it is known, if `pytest-ngraph history` is asked every night."""
    waited: dict[float, list[float]] = {size: [] for size in SIZES}
    alarms = looks = 0
    for seed in range(trials):
        trial = simulate(series, nights, 1000 + seed)
        known: dict[int, int] = {}
        reported: set[tuple[int, int]] = set()
        for night in range(10, nights + 1):
            chains = [Chain(trial.ratios[i, :night], trial.errors[i, :night]) for i in range(series)]
            looks += series
            for number, steps in enumerate(find(chains)):
                step = trial.steps[number]
                for each in steps:
                    if step and abs(each.place - step[0]) <= NEAR:
                        known.setdefault(number, night - step[0])
                    elif each.place >= night - NEAR and not any(
                        at == number and abs(place - each.place) <= NEAR for at, place in reported
                    ):
                        alarms += 1
                        reported.add((number, each.place))
        for number, step in enumerate(trial.steps):
            if step:
                waited[SIZES[(number // 2) % len(SIZES)]].append(known.get(number, np.inf))
    lines = ["| step | nights until it is known: median | 90 % within |", "| --- | --- | --- |"]
    for size, nights_waited in waited.items():
        median, most = (np.quantile(nights_waited, share, method="higher") for share in (0.5, 0.9))
        lines.append(f"| {100 * size:.0f} % | {_nights(median)} | {_nights(most)} |")
    years = looks / 365
    return "\n".join(
        [*lines, "", f"New steps that were none: {alarms}, asked every night of {years:.0f} years of a series."]
    )


def _nights(count: float) -> str:
    return f"{count:.0f}" if np.isfinite(count) else "not within the year"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few trials, under a minute")
    parser.add_argument("--page", type=Path, metavar="DIR", help="write a page of 400 series instead, and open it")
    parsed = parser.parse_args()
    if parsed.page:
        nights = simulate(400, 365, 0)
        history_page.show(parsed.page, nights.ratios, nights.errors)
        return
    print(table(trials=1 if parsed.quick else 6, series=40, nights=365))
    print()
    print(delays(trials=1 if parsed.quick else 4, series=20, nights=120 if parsed.quick else 365))


if __name__ == "__main__":
    main()
