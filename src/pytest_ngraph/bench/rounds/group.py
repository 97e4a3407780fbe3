"""A group: the cases of one workload at one size, measured in turn so that they are compared in the same minutes."""

from __future__ import annotations

import dataclasses
import os
import random
import time
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, TypeVar

import psutil

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.progress import Progress
from pytest_ngraph.bench.rounds.goal import Contender, Goal, Precision
from pytest_ngraph.clock import Clock
from pytest_ngraph.machine import contention, throttling
from pytest_ngraph.record import Contention
from pytest_ngraph.settings import Settings

Count = TypeVar("Count", int, float)


class TakesTurns(Contender, Protocol):
    """What is asked of an arm that runs rounds in turn with others; `in_step` and `stopped` are as in `Arm`."""

    in_step: bool
    stopped: str

    @property
    def target(self) -> Target: ...

    @property
    def can_run(self) -> bool: ...

    @property
    def has_fewest_rounds(self) -> bool: ...

    @property
    def measured_s(self) -> float: ...

    def measure_round(self, *, after_others: bool) -> None: ...


def interleave(
    arms: Sequence[TakesTurns],
    settings: Settings,
    progress: Progress,
    clock: Clock = time.monotonic,
    goal: Goal | None = None,
) -> Contention:
    """Run rounds of all arms in turn, in a new order each cycle, until the goal is reached or the budget ends.

    While one arm works, the others wait for their next request without spinning.

    Args:
        goal: decides which arms run, and when they have had enough; without it, all run until all are precise.

    Returns:
        What else the machine did during these rounds.
    """
    throttled, slept_s = contention.throttles(), contention.asleep_s()
    watch = throttling.of(arms[0].target.kind, arms[0].target.index) if arms else throttling.Throttling()
    others, slowed = watch.others(_own_processes), Counter[str]()
    slow_rounds = 0
    before, started = contention.read(), clock()
    order = random.Random(0)
    goal = goal or Precision()
    cycles = 0
    while running := [arm for arm in arms if arm.can_run]:
        due = [arm for arm in running if goal.takes_part(arm, cycles)]
        for arm in order.sample(due, len(due)):
            arm.in_step = arm.in_step and len(arm.rounds) == cycles
            arm.measure_round(after_others=len(running) > 1)
            reasons = watch.now()
            slow_rounds += bool(reasons)
            slowed.update(reasons)
            progress.measuring(arm.case, share_of_budget(running, settings))
        cycles += 1
        running = [arm for arm in running if arm.can_run]
        if goal.is_reached(running, cycles) or budget_spent([arm for arm in running if goal.contends(arm)], settings):
            break
    for arm in arms:
        arm.stopped = goal.reason(arm.case)
    during = contention.between(before, contention.read(), elapsed_s=clock() - started)
    return dataclasses.replace(
        during,
        throttles=_growth(throttled, contention.throttles()),
        asleep_s=_growth(slept_s, contention.asleep_s()),
        throttled_rounds=slow_rounds,
        throttled_by=", ".join(slowed),
        others_on_gpu=others,
    )


def budget_spent(arms: Sequence[TakesTurns], settings: Settings) -> bool:
    """Return whether the arms have used up their budget, and each has the minimum number of rounds."""
    return all(arm.has_fewest_rounds for arm in arms) and share_of_budget(arms, settings) >= 1


def share_of_budget(arms: Sequence[TakesTurns], settings: Settings) -> float:
    """Return the seconds measured over the seconds allowed, of all arms together."""
    return sum(arm.measured_s for arm in arms) / max(settings.budget_s * len(arms), 1e-9)


def _own_processes() -> list[int]:
    """Return the ids of this process and of all that descend from it."""
    return [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]


def _growth(before: Count | None, now: Count | None) -> Count | None:
    return None if before is None or now is None else now - before
