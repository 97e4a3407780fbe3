from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ngraph.stats.intervals import (
    FEWEST_ROUNDS,
    Estimate,
    Floats,
    difference,
    interval_rank,
    intervals_of_rounds,
    median_interval,
    median_intervals,
    quotient,
    relative_half_width,
    widening,
)

rounds = arrays(np.float64, st.integers(1, 40), elements=st.floats(1e-6, 1e3))
enough_rounds = arrays(np.float64, st.integers(FEWEST_ROUNDS, 40), elements=st.floats(1e-6, 1e3))


@pytest.mark.parametrize(("count", "rank"), [(1, None), (5, None), (6, 0), (8, 0), (9, 1), (20, 5), (100, 39)])
def test_ranks_are_those_of_published_tables(count: int, rank: int | None) -> None:
    assert interval_rank(count) == rank


@pytest.mark.parametrize("count", [3000, 100_000])
def test_rank_of_many_samples_approaches_the_normal_one(count: int) -> None:
    assert interval_rank(count) == pytest.approx(count / 2 - 1.96 * math.sqrt(count) / 2, abs=2)


@pytest.mark.parametrize("count", [6, 9, 15, 30])
def test_interval_covers_the_median_at_least_as_often_as_it_says(count: int) -> None:
    random = np.random.default_rng(7)
    intervals = [median_interval(random.lognormal(0, 1, count)) for _ in range(4000)]
    coverage = np.mean([low <= 1.0 <= high for _, low, high in intervals])
    assert 0.94 <= coverage < 0.995


def test_too_few_samples_have_an_infinite_interval() -> None:
    assert median_interval(np.array([1.0, 2.0, 3.0])) == Estimate(2.0, -math.inf, math.inf)


def test_no_samples_are_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        median_interval(np.array([]))


@given(rounds)
def test_interval_contains_the_median_that_numpy_finds(samples: Floats) -> None:
    value, low, high = median_interval(samples)
    assert value == pytest.approx(np.median(samples))
    assert low <= value <= high


@given(enough_rounds, st.floats(1e-3, 1e3))
def test_interval_scales_with_the_samples(samples: Floats, factor: float) -> None:
    assert median_interval(samples * factor) == pytest.approx(median_interval(samples).scaled(factor))


def test_many_at_once_are_what_each_is_alone() -> None:
    samples = np.random.default_rng(1).lognormal(size=(3, 15))
    intervals = median_intervals(samples)
    assert [intervals[row] for row in range(3)] == [median_interval(own) for own in samples]


def test_relative_half_width() -> None:
    assert relative_half_width(Estimate(2.0, 1.9, 2.1)) == pytest.approx(0.05)
    assert relative_half_width(Estimate(0.0, -1.0, 1.0)) == math.inf


def correlated(correlation: float, trials: int, count: int, seed: int = 1) -> Floats:
    """Return rounds whose logarithms are an autoregressive series around 0 with a deviation of 5 %."""
    steps = np.random.default_rng(seed).normal(size=(trials, count))
    series = steps.copy()
    for place in range(1, count):
        series[:, place] = correlation * series[:, place - 1] + math.sqrt(1 - correlation**2) * steps[:, place]
    spread: Floats = np.exp(0.05 * series)
    return spread


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.5])
@pytest.mark.parametrize("count", [12, 30, 100])
def test_interval_of_correlated_rounds_covers_as_often_as_it_says(correlation: float, count: int) -> None:
    found = intervals_of_rounds(correlated(correlation, 4000, count))
    assert np.mean((found.lows <= 1) & (found.highs >= 1)) >= 0.94


def test_interval_that_ignores_the_correlation_covers_too_rarely() -> None:
    found = median_intervals(correlated(0.5, 4000, 30))
    assert np.mean((found.lows <= 1) & (found.highs >= 1)) < 0.85


def test_widening_approaches_the_error_of_the_median() -> None:
    """Of a Gaussian series with correlations r^k the signs have 2 / pi asin(r^k)."""
    expected = 1 + 2 * sum(2 / math.pi * math.asin(0.5**lag) for lag in range(1, 60))
    assert np.median(widening(correlated(0.5, 200, 20_000))) == pytest.approx(math.sqrt(expected), rel=0.05)
    assert np.median(widening(correlated(0.0, 200, 20_000))) == pytest.approx(1, abs=0.05)


def test_bounds_of_correlated_rounds_go_beyond_the_extremes_where_these_are_too_near() -> None:
    drifting = np.linspace(1.0, 1.1, 12)[None, :]
    value, low, high = intervals_of_rounds(drifting)[0]
    assert 0 < low < 1.0 < value < 1.1 < high


@given(enough_rounds)
def test_widening_is_never_below_one_and_keeps_the_value(samples: Floats) -> None:
    assert widening(samples[None, :])[0] >= 1
    found, independent = intervals_of_rounds(samples[None, :])[0], median_interval(samples)
    assert found.value == independent.value
    assert found.low <= independent.low
    assert found.high >= independent.high


@given(enough_rounds, st.floats(1e-3, 1e3))
def test_widened_interval_scales_with_the_samples(samples: Floats, factor: float) -> None:
    scaled = intervals_of_rounds(samples[None, :] * factor)[0]
    assert scaled == pytest.approx(intervals_of_rounds(samples[None, :])[0].scaled(factor), rel=1e-6)


@pytest.mark.parametrize("error", [0.02, 0.2])
def test_the_interval_of_a_quotient_covers_it_as_often_as_those_of_its_numbers_cover_them(error: float) -> None:
    random = np.random.default_rng(3)
    above, below = (random.normal(mean, error * mean, 4000) for mean in (3.0, 4.0))
    reaches = [1.96 * error * mean for mean in (3.0, 4.0)]
    intervals = [
        quotient(*(Estimate(value, value - reach, value + reach) for value, reach in zip(pair, reaches, strict=True)))
        for pair in zip(above.tolist(), below.tolist(), strict=True)
    ]
    covering = sum(each.low <= 0.75 <= each.high for each in intervals) / len(intervals)
    assert covering == pytest.approx(0.95, abs=0.015)


def test_a_quotient_of_exact_numbers_is_exact() -> None:
    assert quotient(Estimate.exactly(3.0), Estimate.exactly(4.0)) == pytest.approx((0.75, 0.75, 0.75))


@pytest.mark.parametrize("below", [Estimate(4.0, 0.0, 8.0), Estimate(4.0, -math.inf, math.inf)])
def test_a_quotient_has_no_bounds_where_the_second_number_may_be_zero(below: Estimate) -> None:
    assert quotient(Estimate(3.0, 2.9, 3.1), below) == (0.75, -math.inf, math.inf)


def test_a_difference_is_as_uncertain_as_both_of_its_numbers() -> None:
    assert difference(Estimate(7.0, 4.0, 8.0), Estimate(2.0, 1.0, 6.0)) == pytest.approx((5.0, 0.0, 5.0 + math.sqrt(2)))
    assert difference(Estimate.exactly(3.0), Estimate.exactly(4.0)) == (-1.0, -1.0, -1.0)
    assert difference(Estimate(3.0, -math.inf, math.inf), Estimate.exactly(1.0)) == (2.0, -math.inf, math.inf)
