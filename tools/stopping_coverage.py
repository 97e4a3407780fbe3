"""Print how often the interval of a case covers its true time when the rounds end, and after how many rounds that is.

    python tools/stopping_coverage.py [--trials=1000]

Simulated: rounds with log-normal times, whose logarithms are independent or an autoregressive series, and that end by
the rule of `worker.measure` or with a budget of 100 rounds (5 s of 50 ms). Beside it stands a rule that looks after
every round from the sixth on, takes half the width for both sides, and the rounds for independent.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from markdown_output import table

from pytest_ngraph.record import Round
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import Estimate, Floats, intervals_of_rounds, median_interval, relative_half_width
from pytest_ngraph.worker.measure import is_look, is_settled

CORRELATIONS = (0.0, 0.3, 0.5)
SPREADS = (0.005, 0.01, 0.02)
"""Standard deviations of the logarithms of the rounds' times."""
SETTINGS = Settings()
MOST_ROUNDS = round(SETTINGS.budget_s / SETTINGS.round_s)
HEADING = ("correlation, spread", "covered", "rounds", "looking after every round: covered", "its rounds")


class Ended(NamedTuple):
    """How often the interval covered the true median when the rounds ended, and the mean number of rounds."""

    covered: float
    rounds: float


Rule = Callable[[Floats], bool]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="trials of each row; 1000 are right to within 0.7 %%")
    parsed = parser.parse_args()
    print(table(HEADING, [row(r, spread, parsed.trials) for r in CORRELATIONS for spread in SPREADS]))


def row(correlation: float, spread: float, trials: int) -> list[str]:
    """Return the row of rounds with this correlation from each to the next."""
    every = rounds(correlation, spread, (trials, MOST_ROUNDS))
    ours, naive = ended(every, planned, of_rounds), ended(every, after_every_round, median_interval)
    label = f"{correlation:.1f}, {spread:.1%}"
    return [label, f"{ours.covered:.1%}", f"{ours.rounds:.0f}", f"{naive.covered:.1%}", f"{naive.rounds:.0f}"]


def ended(every: Floats, settled: Rule, interval: Callable[[Floats], Estimate]) -> Ended:
    """Return how each series of rounds ended by a rule; the true median is 1."""
    counts = [next((n for n in range(1, len(own)) if settled(own[:n])), len(own)) for own in every]
    found = [interval(own[:count]) for own, count in zip(every, counts, strict=True)]
    return Ended(float(np.mean([each.low <= 1 <= each.high for each in found])), float(np.mean(counts)))


def planned(samples: Floats) -> bool:
    """The rule by which cases end."""
    if not is_look(len(samples), SETTINGS.min_rounds):
        return False
    return is_settled(as_rounds(samples), SETTINGS.precision_target, first=SETTINGS.min_rounds)


def after_every_round(samples: Floats) -> bool:
    """The rule without any of its precautions."""
    return relative_half_width(median_interval(samples)) <= SETTINGS.precision_target


def of_rounds(samples: Floats) -> Estimate:
    return intervals_of_rounds(samples[None, :])[0]


def as_rounds(samples: Floats) -> Sequence[Round]:
    return [Round(1, seconds) for seconds in samples.tolist()]


def rounds(correlation: float, spread: float, shape: tuple[int, int], seed: int = 0) -> Floats:
    """Return series of seconds per iteration with a median of 1; shape (trials, rounds)."""
    steps = np.random.default_rng(seed).normal(size=shape)
    series = steps.copy()
    for place in range(1, shape[1]):
        series[:, place] = correlation * series[:, place - 1] + math.sqrt(1 - correlation**2) * steps[:, place]
    found: Floats = np.exp(spread * series)
    return found


if __name__ == "__main__":
    main()
