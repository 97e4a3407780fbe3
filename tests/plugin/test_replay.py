"""The clock that gives pytest-benchmark the samples of a worker."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any, cast

from synthetic import case, noisy

from pytest_ngraph.plugin.replay import ReplayClock, replay


def test_the_nth_pair_of_readings_differs_by_exactly_the_nth_sample() -> None:
    clock = ReplayClock()
    samples = [0.1, 1e-9, 3600.0, 0.1 + 0.2]
    clock.load(samples)
    for sample in samples:
        began, ended = clock(), clock()
        assert ended - began == sample


def test_before_samples_are_there_no_time_goes_by() -> None:
    clock = ReplayClock()
    assert [clock() for _ in range(3)] == [0.0] * 3


def test_a_test_keeps_no_samples_beside_its_statistics() -> None:
    """A session of 10,000 tests would hold them twice."""
    clock, measured = ReplayClock(), noisy(case(), 0.25)
    marker = SimpleNamespace(kwargs={"timer": clock})
    read: list[bool] = []

    def pedantic(function: object, rounds: int, iterations: int) -> None:
        read.extend(clock() < clock() for _ in range(rounds))

    replay(
        cast(Any, SimpleNamespace(extra_info={}, pedantic=pedantic)),
        cast(Any, SimpleNamespace(get_closest_marker=lambda name: marker)),
        measured,
    )
    samples = measured.samples.tolist()
    assert all(read)
    assert len(read) == len(samples) > 1
    gc.collect()
    lists = [each for each in gc.get_objects() if type(each) is list]  # others compare as they like: arrays, mocks
    assert [each for each in lists if len(each) == len(samples) and each is not samples and each == samples] == []
