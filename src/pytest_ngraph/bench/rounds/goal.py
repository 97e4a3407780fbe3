"""Goals: the question that the rounds of a group answer, and so which arms still run and when all have had enough.

`precision` asks how fast each arm is, `best` which is the fastest, `rank` in which order they are, `threshold` whether
each limit is kept. At planned looks (`worker.measure.is_look`), an arm whose part of the question is settled gets one
cycle in `SPARSE`, and none once a second look in a row finds it settled: a disturbance that lasted from one look to the
next would have misled both. What it no longer uses of the group's budget is left for the others. An arm that is open
again later, because the fastest has changed, runs again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Protocol

import numpy as np

from pytest_ngraph.case import IDENTITY, Case
from pytest_ngraph.metrics.between import IN_GENERAL, TAIL, Between
from pytest_ngraph.metrics.settling import Settled, order_settled, side_settled
from pytest_ngraph.record import Round
from pytest_ngraph.settings import Settings
from pytest_ngraph.stats import LEVEL, Estimate, intervals_of_rounds
from pytest_ngraph.worker.measure import is_look

SPARSE = 4
"""An arm whose part was settled at one look runs in one cycle in this many until the next look."""
REACHED = "its group's question is answered"
KNOWN = "its thresholds are surely kept or breached, or no further rounds can show it"
UNLIMITED = "no threshold is about its rounds"
SHOWN_BY_ROUNDS = ("throughput", "latency_s", "speedup")
"""The metrics whose limits can be settled while rounds run: those of one arm, or of one arm and identity."""


class Contender(Protocol):
    """What a goal reads of an arm."""

    @property
    def case(self) -> Case: ...

    @property
    def rounds(self) -> list[Round]: ...

    @property
    def is_done(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A limit on a metric that follows from rounds; `bound` is in the metric's own unit."""

    metric: str
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a session knows that a goal decides by.

    Attributes:
        between: how much processes of the same code differ.
        limits: limits on metrics that follow from rounds, by case.
        family: how many comparisons with limits the run makes, among which the chance of an error is shared.
        groups: how many cases the run has of each group. A group that is not in it is measured whole.
    """

    between: Between = IN_GENERAL
    limits: Mapping[Case, Sequence[Limit]] = field(default_factory=dict)
    family: int = 1
    groups: Mapping[Case, int] = field(default_factory=dict)


NOTHING_KNOWN = Knowledge()
Reasons = dict[Case, str]
"""Why arms need no more rounds; arms that need some are not in it."""
Question = Callable[[Sequence[Contender], int], Reasons]
"""Returns which of these arms are settled at this look, counted from 1."""


class Goal(Protocol):
    """Decides which arms run in a cycle, and when a group has had enough."""

    def takes_part(self, arm: Contender, cycle: int) -> bool:
        """Return whether an arm runs in this cycle, counted from 0."""
        ...

    def is_reached(self, arms: Sequence[Contender], cycles: int) -> bool:
        """Return whether these arms, which have not failed, need no more rounds after this many cycles."""
        ...

    def contends(self, arm: Contender) -> bool:
        """Return whether the seconds of an arm count against the budget."""
        ...

    def reason(self, case: Case) -> str:
        """Return why an arm needed no more rounds; empty where it ran until the end by its own precision or budget."""
        ...


class Precision:
    """Every arm runs until all are known to the precision target."""

    def takes_part(self, arm: Contender, cycle: int) -> bool:
        return True

    def is_reached(self, arms: Sequence[Contender], cycles: int) -> bool:
        return all(arm.is_done for arm in arms)

    def contends(self, arm: Contender) -> bool:
        return True

    def reason(self, case: Case) -> str:
        return ""


class Race:
    """Arms run until their part of a question is settled.

    Args:
        question: finds which arms are settled.
        first: cycles before the first look.
        favours_fast: whether an arm that is probably not the fastest runs in one cycle in `SPARSE`, and the budget
            counts the others only.
    """

    def __init__(self, question: Question, first: int, *, favours_fast: bool = False) -> None:
        self._question = question
        self._first = first
        self._favours_fast = favours_fast
        self._looks = 0
        self._in_a_row: dict[Case, int] = {}
        self._reasons: Reasons = {}
        self._behind: set[Case] = set()

    def takes_part(self, arm: Contender, cycle: int) -> bool:
        times = self._in_a_row.get(arm.case, 0)
        if times or arm.case in self._behind:
            return times <= 1 and cycle % SPARSE == 0
        return True

    def contends(self, arm: Contender) -> bool:
        return arm.case not in self._behind

    def is_reached(self, arms: Sequence[Contender], cycles: int) -> bool:
        if not is_look(cycles, self._first):
            return False
        self._looks += 1
        self._reasons = self._question(arms, self._looks)
        self._in_a_row = {
            arm.case: self._in_a_row.get(arm.case, 0) + 1 if arm.case in self._reasons else 0 for arm in arms
        }
        if self._favours_fast:
            self._behind = behind(arms)
        return len(self._reasons) == len(arms)

    def reason(self, case: Case) -> str:
        return self._reasons.get(case, "")


def goal_of(settings: Settings, knowledge: Knowledge = NOTHING_KNOWN) -> Goal:
    """Return the goal that the settings name, for one group."""
    if settings.smoke or settings.goal == "precision":
        return Precision()
    between, tolerance = knowledge.between, settings.indifference
    questions: Mapping[str, Question] = {
        "best": lambda arms, look: best(arms, look, between, tolerance),
        "rank": lambda arms, look: rank(arms, look, between, tolerance),
        "threshold": lambda arms, look: thresholds(arms, look, knowledge),
    }
    favours_fast = settings.is_race and settings.goal == "best"
    return Race(questions[settings.goal], settings.min_rounds, favours_fast=favours_fast)


def best(arms: Sequence[Contender], look: int, between: Between, tolerance: float) -> Reasons:
    """Settle which arm is the fastest. Each arm is compared with the fastest at the level that is left for it.

    The fastest is settled when all others are.
    """
    ordered = _fastest_first(arms)
    if not ordered:
        return {}
    (first, highest), *others = ordered
    level = (1 - LEVEL) / max(1, len(others))
    found: Reasons = {}
    for case, speed in others:
        state = order_settled(highest, speed, between.pair, level, look, tolerance)
        if state != "open":
            found[case] = _in_words(state, first, tolerance)
    return found | {first: REACHED} if len(found) == len(others) else found


def behind(arms: Sequence[Contender]) -> set[Case]:
    """Return the arms that are probably slower than the fastest: their intervals lie below that of its speed."""
    ordered = _fastest_first(arms)
    return {case for case, speed in ordered if speed.high < ordered[0][1].low}


def rank(arms: Sequence[Contender], look: int, between: Between, tolerance: float) -> Reasons:
    """Settle the order of the arms. An arm is settled when its order with both neighbours is."""
    ordered = _fastest_first(arms)
    level = (1 - LEVEL) / max(1, len(ordered) - 1)
    found: dict[Case, list[str]] = {case: [] for case, _ in ordered}
    for (upper, above), (lower, below) in pairwise(ordered):
        state = order_settled(above, below, between.pair, level, look, tolerance)
        if state == "open":
            found.pop(upper, None)
            found.pop(lower, None)
        elif lower in found:
            found[lower].append(_in_words(state, upper, tolerance))
    return {case: ", ".join(reasons) or REACHED for case, reasons in found.items()}


def thresholds(arms: Sequence[Contender], look: int, knowledge: Knowledge) -> Reasons:
    """Settle each limit of each arm. Identity also runs for the speedups of the others.

    An arm with a limit that follows from more than its group's rounds runs until it is precise.
    """
    speeds = dict(_fastest_first(arms))
    eager = next((case for case in speeds if case.compiler == IDENTITY), None)
    open_limits = {
        arm.case: [
            limit
            for limit in knowledge.limits.get(arm.case, ())
            if not _is_settled(limit, arm, eager, speeds, look, knowledge)
        ]
        for arm in arms
    }
    is_referred_to = any(limit.metric == "speedup" for limits in open_limits.values() for limit in limits)
    return {
        case: KNOWN if knowledge.limits.get(case) else UNLIMITED
        for case, limits in open_limits.items()
        if not limits and not (case == eager and is_referred_to)
    }


def _is_settled(
    limit: Limit,
    arm: Contender,
    eager: Case | None,
    speeds: Mapping[Case, Estimate],
    look: int,
    knowledge: Knowledge,
) -> bool:
    """Return whether a limit is surely kept or breached, or can be no surer."""
    between, level = knowledge.between, TAIL / max(1, knowledge.family)
    speed, bound = speeds[arm.case], limit.bound
    if limit.metric not in SHOWN_BY_ROUNDS:
        return arm.is_done
    if bound <= 0:
        return True
    if limit.metric == "speedup":
        if eager is None or eager == arm.case:
            return True
        state = _speedup_settled(speed, speeds[eager], bound, between, level, look)
    else:
        calls_per_s = 1 / bound if limit.metric == "latency_s" else bound / arm.case.batch_size
        state = side_settled(speed, calls_per_s, between.of((1.0,)), level, look)
    return state != "open"


def _speedup_settled(
    speed: Estimate, eager: Estimate, bound: float, between: Between, level: float, look: int
) -> Settled:
    """Return whether a speedup is surely on its side of a bound."""
    reference = eager.scaled(bound)
    above, below = (speed, reference) if speed.value >= reference.value else (reference, speed)
    return order_settled(above, below, between.pair, level, look)


def _fastest_first(arms: Iterable[Contender]) -> list[tuple[Case, Estimate]]:
    """Return the arms with their iterations per second, the fastest first."""
    speeds = [(arm.case, _speed(arm.rounds)) for arm in arms]
    return sorted(speeds, key=lambda each: -each[1].value)


def _speed(rounds: Sequence[Round]) -> Estimate:
    """Return iterations per second with their 95 % interval, which allows for correlated rounds."""
    samples = np.array([[each.sample_s for each in rounds]], dtype=np.float64)
    return intervals_of_rounds(samples).dividing(np.ones(1))[0]


def _in_words(state: Settled, other: Case, tolerance: float) -> str:
    return {
        "sure": f"surely slower than {other.compiler}",
        "near": f"surely at most {100 * tolerance:g} % faster than {other.compiler}",
        "hopeless": f"too close to {other.compiler}: other processes may differ by more",
    }[state]
