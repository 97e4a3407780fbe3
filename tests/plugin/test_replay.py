"""The clock that gives pytest-benchmark the samples of a worker."""

from __future__ import annotations

from pytest_ngraph.plugin.replay import ReplayClock


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
