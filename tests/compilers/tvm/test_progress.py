"""How far a search is, which kernel is next, and when it ends."""

from __future__ import annotations

import pytest

from pytest_ngraph.compilers.tvm.database import FAILED_S
from pytest_ngraph.compilers.tvm.progress import GAIN_WINDOW, Progress, Watch, promise


class Clock:
    """Stands still until it is advanced."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def watch(seen: list[Progress], clock: Clock | None = None, patience: int = 150) -> Watch:
    return Watch(
        rules_s=[1.0, 2.0],
        calls=[3, 1],
        limit=100,
        patience=patience,
        listener=seen.append,
        clock=clock or Clock(),
    )


def test_progress_shows_trials_best_gain_and_time_left() -> None:
    seen: list[Progress] = []
    clock = Clock()
    following = watch(seen, clock)
    for _ in range(20):
        following.recall(1, 3.0)
    clock.now = 40.0
    following.measured(0, [0.5, FAILED_S, 2.0, 1.0] * 5)
    [progress] = seen
    assert (progress.trials, progress.limit) == (40, 100)
    assert progress.rules_s == 5.0
    assert progress.best_s == 3.5
    assert progress.gain == pytest.approx(5 / 3.5)
    assert progress.left_s == 120.0
    assert str(progress) == "40 of 100 trials, best 3500.00 ms (1.43 x the rules), at most 2 min left"


def test_a_kernel_whose_rule_could_not_be_timed_is_left_out_of_the_sum() -> None:
    following = Watch([1.0, FAILED_S], calls=[1, 1], limit=9, patience=9, listener=lambda _: None)
    following.measured(1, [0.25])
    assert following.progress().best_s == 1.0


def test_it_is_over_when_the_best_stalls() -> None:
    following = watch([], patience=8)
    following.measured(0, [0.9] * 4)
    following.measured(1, [3.0] * 4)
    assert not following.is_over
    following.measured(1, [FAILED_S] * 4)
    assert following.is_over


def test_a_gain_starts_the_patience_again() -> None:
    following = watch([], patience=8)
    for seconds in (0.9, 0.8, 0.7):
        following.measured(0, [seconds] * 7)
    assert following.trials == 21
    assert not following.is_over


def test_a_search_that_stalled_in_an_earlier_run_stays_over() -> None:
    following = watch([], patience=8)
    following.recall(0, 0.9)
    for _ in range(8):
        following.recall(0, 0.95)
    assert following.is_over


def test_the_limit_counts_earlier_runs() -> None:
    following = watch([])
    for _ in range(99):
        following.recall(0, 0.9 / (1 + following.trials))
    assert not following.is_over
    following.measured(0, [0.001])
    assert following.is_over


def test_trials_go_where_they_may_gain_most() -> None:
    following = watch([])
    assert following.most_promising({0, 1}) == 0  # 3 x 1 s against 1 x 2 s
    following.measured(0, [2.0] * 16)
    assert following.most_promising({0, 1}) == 1
    assert following.most_promising({0}) == 0


def test_a_kernel_that_still_gains_promises_more_than_one_that_does_not() -> None:
    flat = [1.0] * (2 * GAIN_WINDOW)
    gaining = [2.0] * GAIN_WINDOW + [1.0] * GAIN_WINDOW
    assert promise(gaining) > promise(flat) > 0
    assert promise([FAILED_S] * 3) == 0
