from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from pytest_ngraph.clock import WallStopwatch
from pytest_ngraph.comparison import Quad
from pytest_ngraph.record import Round
from pytest_ngraph.worker.measure import (
    is_look,
    is_precise,
    is_settled,
    is_steady,
    iterations_per_round,
    time_round,
    until_disturbed,
    untimed_calls,
    warm_up,
)


class FakeMachine:
    """Each call takes the next of `durations`; the last one repeats."""

    def __init__(self, *durations: float) -> None:
        self._durations: Iterator[float] = iter(durations)
        self._last = 0.0
        self.now = 0.0
        self.calls = 0

    def run(self) -> None:
        self.calls += 1
        self._last = next(self._durations, self._last)
        self.now += self._last

    def stopwatch(self) -> WallStopwatch:
        return WallStopwatch(lambda: self.now)


def test_a_round_is_the_time_of_all_its_iterations() -> None:
    machine = FakeMachine(0.1, 0.2, 0.3)
    burst = time_round(machine.run, machine.stopwatch(), 3)
    assert burst.iterations == 3
    assert burst.elapsed_s == pytest.approx(0.6)


def test_calls_before_a_round_are_not_timed() -> None:
    """They fill the caches again after another model's turn."""
    machine = FakeMachine(0.9, 0.9, 0.1)
    burst = time_round(machine.run, machine.stopwatch(), 3, untimed=2)
    assert burst.elapsed_s == pytest.approx(0.3)
    assert (burst.iterations, machine.calls) == (3, 5)
    assert [untimed_calls(calls) for calls in (1, 2, 39, 40, 250)] == [1, 1, 1, 2, 12]


def test_warm_up_ends_when_times_are_steady() -> None:
    machine = FakeMachine(5.0, 1.0, 0.1)
    warmup, seconds = warm_up(machine.run, machine.stopwatch(), window_s=0.05, budget_s=100)
    assert warmup.steady
    assert seconds == pytest.approx(0.1)
    assert warmup.iterations == machine.calls == 5


def test_warm_up_ends_with_its_budget() -> None:
    machine = FakeMachine(*(0.9**i for i in range(100)))
    warmup, _ = warm_up(machine.run, machine.stopwatch(), window_s=0.05, budget_s=3)
    first_s = 1.0
    assert not warmup.steady
    assert 3 <= warmup.elapsed_s - first_s < 4


def test_the_first_call_may_take_longer_than_the_budget() -> None:
    machine = FakeMachine(100.0, 0.1)
    warmup, seconds = warm_up(machine.run, machine.stopwatch(), window_s=0.2, budget_s=3)
    assert warmup.steady
    assert seconds == pytest.approx(0.1)
    assert warmup.elapsed_s > 100


def test_without_a_budget_there_is_one_call() -> None:
    machine = FakeMachine(0.1)
    warmup, seconds = warm_up(machine.run, machine.stopwatch(), window_s=0.05, budget_s=0)
    assert machine.calls == warmup.iterations == 1
    assert seconds == pytest.approx(0.1)


def test_a_slower_window_is_a_disturbance_not_a_warm_up() -> None:
    assert is_steady([Round(1, 1.0), Round(1, 2.0), Round(1, 1.0)])


def test_a_new_best_time_is_warming_up() -> None:
    assert not is_steady([Round(1, 1.0), Round(1, 1.0), Round(1, 0.9)])


@pytest.mark.parametrize(("seconds", "expected"), [(0.001, 50), (0.2, 1), (1e-12, 50_000_000)])
def test_iterations_fill_a_round(seconds: float, expected: int) -> None:
    assert iterations_per_round(seconds, 0.05) == expected


def test_equal_rounds_are_precise_and_scattered_ones_are_not() -> None:
    assert is_precise([Round(1, 1.0)] * 6, target=0.01)
    assert not is_precise([Round(1, 1.0 + 0.1 * i) for i in range(6)], target=0.01)


def test_both_ends_of_the_interval_are_within_the_target() -> None:
    """Rounds that are rarely fast and often slow: half the width is within 2 %, the upper end is not."""
    seconds = [1.0, 1.0, 1.0, 1.035] * 30
    fast_then_slow = [Round(1, each) for each in (*seconds, *[1.0] * 20, *[1.035] * 60)]
    assert not is_precise(fast_then_slow, target=0.02)


def test_rounds_that_drift_are_not_precise() -> None:
    """The same rounds in a random order are."""
    drifting = [0.99 + 0.0005 * place for place in range(40)]
    shuffled = random.Random(0).sample(drifting, len(drifting))
    assert is_precise([Round(1, each) for each in shuffled], target=0.007)
    assert not is_precise([Round(1, each) for each in drifting], target=0.007)


def test_looks_are_planned() -> None:
    assert [count for count in range(200) if is_look(count, first=12)] == [12, 17, 24, 34, 48, 67, 94, 132, 185]
    assert [count for count in range(8) if is_look(count, first=1)] == [1, 2, 3, 4, 6]


def test_rounds_end_only_at_a_planned_look() -> None:
    steady = [Round(1, 1.0)] * 100
    ended = [count for count in range(1, 40) if is_settled(steady[:count], target=0.01, first=12)]
    assert ended == [12, 17, 24, 34]


def test_quads_are_taken_until_several_in_a_row_are_slow() -> None:
    fast, slow = (Quad(base=(each, each), head=(each, each)) for each in (1.0, 2.0))
    rarely_slow = [fast, slow, fast, slow, slow, fast]
    assert until_disturbed(rarely_slow, 4.5) == rarely_slow
    assert until_disturbed([*rarely_slow, slow, slow, slow, fast], 4.5) == [*rarely_slow, slow, slow, slow]
    assert until_disturbed([slow] * 10, None) == [slow] * 10
