"""How far a search is, and when it ends."""

from __future__ import annotations

import math

import pytest

from pytest_ngraph.compilers.tvm.progress import NoGain, Progress, Watch


class Clock:
    """Stands still until it is advanced."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def watch(seen: list[Progress], clock: Clock, trials: int = 0, patience: int = 150) -> Watch:
    return Watch(
        rules_s=[1.0, 2.0],
        best_s=[1.0, 2.0],
        weights=[3, 1],
        trials=trials,
        limit=100,
        patience=patience,
        listener=seen.append,
        clock=clock,
    )


def test_it_tells_of_trials_best_gain_and_time_left() -> None:
    seen: list[Progress] = []
    clock = Clock()
    following = watch(seen, clock, trials=20)
    clock.now = 40.0
    following.measured(0, [0.5, math.inf, 2.0, 1.0] * 5)
    [progress] = seen
    assert (progress.trials, progress.limit) == (40, 100)
    assert progress.rules_s == 5.0
    assert progress.best_s == 3.5
    assert progress.gain == pytest.approx(5 / 3.5)
    assert progress.left_s == 120.0
    assert str(progress) == "40 of 100 trials, best 3500.00 ms (1.43 x the rules), at most 2 min left"


def test_it_ends_when_the_best_stalls() -> None:
    following = watch([], Clock(), patience=8)
    following.measured(0, [0.9] * 4)
    following.measured(1, [3.0] * 4)
    with pytest.raises(NoGain, match="no gain in 8 trials"):
        following.measured(1, [math.inf] * 4)


def test_a_gain_starts_the_patience_again() -> None:
    following = watch([], Clock(), patience=8)
    for seconds in (0.9, 0.8, 0.7):
        following.measured(0, [seconds] * 7)
    assert following.trials == 21
