"""Warm-up, rounds and the rule that ends them. Works on calls and clocks, whatever is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Protocol

import numpy as np

from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.comparison import Quad
from pytest_ngraph.record import Round, Warmup
from pytest_ngraph.stats import intervals_of_rounds

Run = Callable[[], object]

STEADY_GAIN = 0.02
"""A warm-up goes on while one of its windows improves the best time by more than this share."""
WINDOWS = 3
"""Fewest windows of a warm-up after its first call: two must agree with the best before them."""
LOOK_GROWTH = 1.4
"""Looks at the precision are planned after 12, 17, 24, 34, 48, ... rounds: few, and none much later than needed."""
UNTIMED = 20
"""Timed calls of a turn for each untimed one, which runs before them."""
LONG_CALL_S = 0.25
"""A call of at least this length fills the caches again in a small part of its time."""
PIPELINED_BURSTS = 3
"""Bursts of calls that are not waited for, timed beside those that are."""
SLOW_IN_A_ROW = 3
"""One slow quad also occurs on a quiet machine; this many in a row are caused by other work."""


class Timed(Protocol):
    """What is timed: a call, how many iterations it makes side by side, and its stopwatch."""

    def __call__(self) -> object: ...

    @property
    def concurrency(self) -> int: ...

    @property
    def stopwatch(self) -> Stopwatch: ...


def untimed_calls(calls: int) -> int:
    """Return how many calls run untimed before `calls` timed ones.

    The first calls of a turn find caches that other work has filled.
    """
    return max(1, calls // UNTIMED)


def time_round(run: Run, stopwatch: Stopwatch, iterations: int, untimed: int = 0) -> Round:
    """Time one burst of `iterations` calls, after some that are not timed."""
    for _ in range(untimed):
        run()
    stopwatch.start()
    for _ in range(iterations):
        run()
    return Round(iterations, stopwatch.stop())


def time_calls(run: Run, stopwatch: Stopwatch, calls: int, every: int = 1) -> list[float]:
    """Time `calls` calls one by one, each the last of `every`, and return their seconds.

    Some run before, untimed. Nothing that Python's garbage collector would look at is kept from one call to the next.
    """
    for _ in range(untimed_calls(calls * every)):
        run()
    seconds = []
    for _ in range(calls):
        for _ in range(every - 1):
            run()
        stopwatch.start()
        run()
        seconds.append(stopwatch.stop())
    return seconds


def time_pipelined(model: Timed, seconds_per_call: float, round_s: float) -> float:
    """Return seconds per iteration where calls are issued without waiting for each other: the median of some bursts.

    Args:
        model: a model whose calls may return before their work is done, with the device's stopwatch.
        seconds_per_call: of calls that are waited for, which take longer.
        round_s: about how long a burst takes.
    """
    calls = iterations_per_round(seconds_per_call, round_s)
    return median(_burst_s(model, calls) for _ in range(PIPELINED_BURSTS))


def time_quad(base: Timed, head: Timed, calls: int, *, head_first: bool) -> Quad:
    """Time four bursts of `calls` calls: base, head, head, base, or head, base, base, head."""
    first, second = (head, base) if head_first else (base, head)
    one, two, three, four = (_burst_s(arm, calls) for arm in (first, second, second, first))
    return Quad(base=(two, three), head=(one, four)) if head_first else Quad(base=(one, four), head=(two, three))


def _burst_s(arm: Timed, calls: int) -> float:
    """Time one burst and return its seconds per iteration."""
    return time_round(arm, arm.stopwatch, calls).sample_s / arm.concurrency


def until_disturbed(quads: Iterable[Quad], slowest_s: float | None) -> list[Quad]:
    """Return the quads, stopping once `SLOW_IN_A_ROW` in a row took longer than `slowest_s` (None: never stop)."""
    taken: list[Quad] = []
    slow = 0
    for quad in quads:
        taken.append(quad)
        slow = slow + 1 if slowest_s is not None and quad.total_s > slowest_s else 0
        if slow == SLOW_IN_A_ROW:
            break
    return taken


def warm_up(run: Run, stopwatch: Stopwatch, *, window_s: float, budget_s: float) -> tuple[Warmup, float]:
    """Call once, then run windows (bursts of about `window_s`) until the times are steady or `budget_s` is spent.

    The first call includes just-in-time work. It says nothing about later calls and does not count against the budget.

    Returns:
        The warm-up, and the seconds per iteration of the fastest window, or of the first call if there was no window.
    """
    first = time_round(run, stopwatch, 1)
    windows: list[Round] = []
    while not is_steady(windows) and _elapsed_s(windows) < budget_s:
        before = windows[-1] if windows else first
        windows.append(time_round(run, stopwatch, iterations_per_round(before.sample_s, window_s)))
    bursts = [first, *windows]
    warmup = Warmup(
        iterations=sum(burst.iterations for burst in bursts), elapsed_s=_elapsed_s(bursts), steady=is_steady(windows)
    )
    return warmup, min(window.sample_s for window in windows or [first])


def is_steady(windows: Sequence[Round]) -> bool:
    """Return whether the last two windows brought no new best time.

    Only getting faster counts as warming up: a slower window shows a disturbance, which the rounds deal with.
    """
    if len(windows) < WINDOWS:
        return False
    earlier = min(w.sample_s for w in windows[:-2])
    return min(w.sample_s for w in windows[-2:]) > (1 - STEADY_GAIN) * earlier


def iterations_per_round(seconds_per_iteration: float, round_s: float) -> int:
    """Return how many iterations fill a round; at least one."""
    return max(1, round(round_s / max(seconds_per_iteration, 1e-9)))


def is_settled(rounds: Sequence[Round], target: float, *, first: int) -> bool:
    """Return whether the rounds may end: they are precise, at one of the planned looks.

    Who looks after every round finds a narrow interval by luck sooner or later.

    Args:
        rounds: all rounds so far.
        target: as in `is_precise`.
        first: number of rounds at the first look.
    """
    return is_look(len(rounds), first) and is_precise(rounds, target)


def is_look(count: int, first: int) -> bool:
    """Return whether a look is planned after `count` rounds: the first, then after `LOOK_GROWTH` times as many each."""
    look = max(1, first)
    while look < count:
        look = max(look + 1, round(LOOK_GROWTH * look))
    return look == count


def is_precise(rounds: Sequence[Round], target: float) -> bool:
    """Return whether the 95 % interval of the median is within `target` of it on both sides.

    The interval allows for correlated rounds (`stats.widening`).
    """
    value, low, high = intervals_of_rounds(np.array([[r.sample_s for r in rounds]]))[0]
    return max(high - value, value - low) <= target * value


def _elapsed_s(windows: Sequence[Round]) -> float:
    return sum(w.elapsed_s for w in windows)
