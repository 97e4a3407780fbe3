"""Time single calls one by one, in blocks: the arms of a group in turn, or the head of a case and its base."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.comparison import BASE, HEAD, CallLaunch
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.wording import significant

MOST_PER_S = 1000
"""Most calls for each second: every call is stored. Of a faster model, every second or third or n-th call is timed, so
that they are spread over all the seconds."""
FEWEST_IN_BLOCK = 10
"""Calls of a block of a slow model. The first call after a pause is not timed, and short blocks would waste many."""
ROUNDING = 1e-6
"""Errors of rounding that may not cost a call."""
DIGITS = 4
"""Significant digits of a stored call: a hundredth of a percent of it or better, in half the space of all digits."""
LAUNCHES = 3
"""Launches of head and base in which their calls are compared."""


class Block(NamedTuple):
    """Single calls to time in one turn: `calls` of them, each the last of `every`."""

    calls: int
    every: int


class Budget:
    """Says how many calls to time next.

    Args:
        settings: its `tails_s` are the seconds to spend, and its `round_s` what a block aims for.
        seconds_per_call: as far as is known.
        share: of the seconds.
    """

    def __init__(self, settings: Settings, seconds_per_call: float, share: float = 1.0) -> None:
        per_call = max(seconds_per_call, 1e-9)
        self._every = max(1, int(1 / (MOST_PER_S * per_call)))
        self._seconds = settings.tails_s * share
        self._most = max(1, round(MOST_PER_S * self._seconds))
        self._per_call = per_call * self._every
        self._block = max(FEWEST_IN_BLOCK, round(settings.round_s / self._per_call))

    def next_block(self, timed: Sequence[float]) -> Block | None:
        """Return what to time after these calls; None when the seconds are spent. One call is always timed."""
        left_s = self._seconds - self._every * sum(timed)
        fitting = min(int(left_s / self._per_call + ROUNDING), self._most - len(timed), self._block)
        calls = max(fitting, 0 if timed else 1)
        return Block(calls, self._every) if calls else None


class TimesCalls(Protocol):
    """What is asked of an arm whose single calls are timed."""

    calls: list[float]

    @property
    def case(self) -> Case: ...

    @property
    def can_run(self) -> bool: ...

    @property
    def has_single_calls(self) -> bool: ...

    @property
    def seconds_per_call(self) -> float: ...

    def time_calls(self, block: Block) -> list[float]: ...


class ComparesCalls(Protocol):
    """What is asked of a head and its base whose single calls are timed in turn."""

    @property
    def can_run(self) -> bool: ...

    @property
    def seconds_per_call(self) -> float: ...

    def build_again(self) -> None: ...

    def time_calls(self, block: Block, which: str) -> list[float]: ...


def time_calls(arms: Sequence[TimesCalls], asked: Collection[Case], settings: Settings) -> None:
    """Time single calls, a block of each arm in turn: of the arms that were asked for and run one call at a time."""
    order = random.Random(0)
    due = [arm for arm in arms if arm.case in asked and arm.has_single_calls]
    budgets = [Budget(settings, arm.seconds_per_call) for arm in due]
    while blocks := [
        (arm, block)
        for arm, budget in zip(due, budgets, strict=True)
        if arm.can_run and (block := budget.next_block(arm.calls))
    ]:
        for arm, block in order.sample(blocks, len(blocks)):
            arm.calls += arm.time_calls(block)


def compare_calls(arm: ComparesCalls, settings: Settings) -> CallLaunch | None:
    """Time single calls of the prepared head and base in turn: half of them, and the others after building both again.

    The arm that begins a pair of blocks is drawn. Returns None where one of them failed.
    """
    timed: dict[str, list[float]] = {HEAD: [], BASE: []}
    order = random.Random()
    for build in (0, 1):
        if build and arm.can_run:
            arm.build_again()
        budget, before = Budget(settings, arm.seconds_per_call, share=0.5), len(timed[HEAD])
        while arm.can_run and (block := budget.next_block(timed[HEAD][before:])):
            for which in order.sample((HEAD, BASE), 2):
                if arm.can_run:
                    timed[which] += arm.time_calls(block, which)
    return CallLaunch(base=tuple(timed[BASE]), head=tuple(timed[HEAD])) if arm.can_run else None


def launch_calls(launch: Callable[[], CallLaunch | Record]) -> tuple[tuple[CallLaunch, ...], str]:
    """Launch head and base `LAUNCHES` times, until one of them fails.

    Args:
        launch: times calls of both in fresh processes; returns the record where one of them fails.

    Returns:
        The launches made, and the reason for stopping early (empty if all went well).
    """
    done: list[CallLaunch] = []
    for _ in range(LAUNCHES):
        found = launch()
        if isinstance(found, Record):
            reason = (found.comparison.problem if found.comparison else "") or found.problem
            return tuple(done), f"launching both to time single calls failed: {reason}"
        done.append(found)
    return tuple(done), ""


def rounded(seconds: Iterable[float]) -> list[float]:
    """Return times of single calls with the digits that are stored."""
    return [significant(each, DIGITS) for each in seconds]
