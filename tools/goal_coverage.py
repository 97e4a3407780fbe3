"""Print how often a goal picks wrongly, how often its intervals are right when it ends, and how many rounds it takes.

    python tools/goal_coverage.py [--trials=1000] [--quick]

Simulated: groups of six arms, close to the fastest or clearly slower, whose rounds have log-normal times. The
logarithms are independent or an autoregressive series, and arms may share a part of them, as on a busy machine. Every
arm draws a process of its own, as a machine in general or a calibrated one has them. The arms end by the rules of
`bench.rounds.goal`, with a budget of 100 rounds each (5 s of 50 ms); in the last rung of a race, of 32 (1 s of 31 ms).

- wrong pick: the arm that ends as the fastest is called surely above all others, and another is faster by its code.
- off: whatever was called, the arm that ends as the fastest is slower than another by more than the indifference.
- wrong order: an order of two neighbours is called sure, and the truth is the other way round.
- sure: all others are surely slower.
- covered: an interval of an arm's record holds the median of its process; the second figure is of dropped arms only.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from markdown_output import table

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.goal import Contender, Goal, Knowledge, goal_of
from pytest_ngraph.bench.rounds.group import interleave
from pytest_ngraph.case import Case
from pytest_ngraph.metrics.between import IN_GENERAL, Between, Spread, surely_above
from pytest_ngraph.record import Round
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import Estimate, Floats, intervals_of_rounds
from pytest_ngraph.worker.measure import is_settled

DEFAULTS = Settings()
CALIBRATED = Between(Spread(0.003 / math.sqrt(2), 30), Spread(0.003, 30), "calibrated")
GROUPS = {"close": (1.0, 0.995, 0.97, 0.9, 0.7, 0.4), "clear": (1.0, 0.8, 0.75, 0.6, 0.5, 0.3)}
"""Iterations per second of the arms, over the fastest one's."""
ARMS = 6
GOALS = {
    "precision": DEFAULTS,
    "best": replace(DEFAULTS, goal="best"),
    "best, in a race": replace(DEFAULTS, goal="best", is_race=True, budget_s=1.0, round_s=1 / 32, min_rounds=8),
    "rank": replace(DEFAULTS, goal="rank"),
}
HEADING = (
    *("goal", "group", "processes", "correlation, shared"),
    *("wrong pick", "off", "wrong order", "sure", "covered", "dropped", "rounds"),
)
QUICK_TRIALS = 60


class Setting(NamedTuple):
    """How the arms of a row vary.

    Attributes:
        correlation: of the logarithm of each round's time with that of the next.
        shared: the share of its variance that all arms have in common.
        spread: its standard deviation.
    """

    correlation: float
    shared: float
    spread: float = 0.02


MOST_CYCLES = ARMS * round(DEFAULTS.budget_s / DEFAULTS.round_s)
SETTINGS = (Setting(0.0, 0.0), Setting(0.5, 0.0), Setting(0.5, 0.5))


class CycleNoted:
    """A goal that notes which cycle runs, so that arms find the disturbances of that cycle."""

    def __init__(self, goal: Goal) -> None:
        self.cycle = 0
        self.is_reached, self.contends, self.reason = goal.is_reached, goal.contends, goal.reason
        self._goal = goal

    def takes_part(self, arm: Contender, cycle: int) -> bool:
        self.cycle = cycle
        return self._goal.takes_part(arm, cycle)


@dataclass
class SimulatedArm:
    """An arm whose rounds are drawn beforehand, one for each cycle; `speed` is that of its process."""

    case: Case
    speed: float
    times: Floats
    noted: CycleNoted
    round_s: float
    min_rounds: int
    can_run: bool = True
    in_step: bool = True
    target: Target = field(default_factory=Target)
    stopped: str = ""
    rounds: list[Round] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return is_settled(self.rounds, DEFAULTS.precision_target, first=self.min_rounds)

    @property
    def has_fewest_rounds(self) -> bool:
        return len(self.rounds) >= self.min_rounds

    @property
    def measured_s(self) -> float:
        return self.round_s * len(self.rounds)

    def measure_round(self, *, after_others: bool) -> None:
        del after_others
        self.rounds.append(Round(1, float(self.times[self.noted.cycle])))

    @property
    def interval(self) -> Estimate:
        return intervals_of_rounds(np.array([[each.sample_s for each in self.rounds]])).dividing(np.ones(1))[0]


class Ended(NamedTuple):
    """What one group showed."""

    wrong_pick: bool
    off: bool
    wrong_order: bool
    sure: bool
    covered: list[bool]
    dropped: list[bool]
    rounds: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000, help="groups of each row; 1000 are right to within 0.7 %%")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TRIALS} groups of each row, in under a minute")
    parsed = parser.parse_args()
    trials = QUICK_TRIALS if parsed.quick else parsed.trials
    rows = [
        row(goal, group, between, setting, trials)
        for goal in GOALS
        for group in GROUPS
        for between in (IN_GENERAL, CALIBRATED)
        for setting in (SETTINGS if group == "close" else SETTINGS[1:2])
    ]
    print(table(HEADING, rows))


def row(goal: str, group: str, between: Between, setting: Setting, trials: int) -> list[str]:
    """Return the row of a goal."""
    random = np.random.default_rng(1)
    found = [ended(GOALS[goal], GROUPS[group], between, setting, random) for _ in range(trials)]
    covered, dropped = ([hit for each in found for hit in getattr(each, name)] for name in ("covered", "dropped"))
    shares = [np.mean([getattr(each, name) for each in found]) for name in ("wrong_pick", "off", "wrong_order", "sure")]
    return [
        goal,
        group,
        "calibrated" if between is CALIBRATED else "in general",
        f"{setting.correlation:.1f}, {setting.shared:.0%}",
        *(f"{share:.1%}" for share in shares),
        f"{np.mean(covered):.1%}",
        f"{np.mean(dropped):.1%}" if dropped else "",
        f"{np.mean([each.rounds for each in found]):.0f}",
    ]


def ended(
    settings: Settings, speeds: Sequence[float], between: Between, setting: Setting, random: np.random.Generator
) -> Ended:
    """Run one group to its goal."""
    noted = CycleNoted(goal_of(settings, Knowledge(between=between)))
    arms = drawn(speeds, between, setting, noted, settings, random)
    interleave(arms, settings, Silent(), goal=noted)
    true = {arm.case: speed for arm, speed in zip(arms, speeds, strict=True)}
    ordered = sorted(((arm, arm.interval) for arm in arms), key=lambda each: -each[1].value)
    (first, highest), *others = ordered
    sure = all(surely_above(highest, [speed for _, speed in others], between))
    hits = {arm.case: speed.low <= arm.speed <= speed.high for arm, speed in ordered}
    return Ended(
        wrong_pick=sure and true[first.case] < max(speeds),
        off=true[first.case] * (1 + settings.indifference) < max(speeds),
        wrong_order=any(
            true[upper.case] < true[lower.case] and all(surely_above(above, [below] * len(others), between))
            for (upper, above), (lower, below) in pairwise(ordered)
        ),
        sure=sure,
        covered=list(hits.values()),
        dropped=[hits[arm.case] for arm in arms if arm.stopped.startswith("surely slower")],
        rounds=sum(len(arm.rounds) for arm in arms),
    )


def drawn(
    speeds: Sequence[float],
    between: Between,
    setting: Setting,
    noted: CycleNoted,
    settings: Settings,
    random: np.random.Generator,
) -> list[SimulatedArm]:
    """Return arms whose processes and rounds are drawn."""
    common = series(setting.correlation, random)
    arms = []
    for place, speed in enumerate(speeds):
        own = series(setting.correlation, random)
        noise = setting.spread * (math.sqrt(setting.shared) * common + math.sqrt(1 - setting.shared) * own)
        process = speed * math.exp(random.normal(0, between.process.deviation))
        case = Case(workload="simulated", compiler=f"arm{place}", batch_size=1)
        arms.append(SimulatedArm(case, process, np.exp(noise) / process, noted, settings.aim_s, settings.min_rounds))
    return arms


def series(correlation: float, random: np.random.Generator) -> Floats:
    """Return standard normal deviates, one for each cycle, each correlated with the next."""
    found: Floats = random.normal(size=MOST_CYCLES)
    for place in range(1, MOST_CYCLES):
        found[place] = correlation * found[place - 1] + math.sqrt(1 - correlation**2) * found[place]
    return found


if __name__ == "__main__":
    main()
