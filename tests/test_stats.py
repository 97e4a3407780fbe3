from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ngraph.stats import (
    DRAWS,
    FEWEST_ROUNDS,
    Estimate,
    Floats,
    bootstrap_medians_of_each,
    interval_rank,
    intervals_of_rounds,
    median_interval,
    median_intervals,
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


def drawn(samples: Floats, seed: int, draws: int = DRAWS) -> Floats:
    """Return draws of the median of one case with independent rounds."""
    medians: Floats = bootstrap_medians_of_each(samples[None, :], [seed], draws, widths=np.ones(1))[0]
    return medians


@pytest.mark.parametrize("count", [12, 25, 100])
def test_draws_reach_as_far_as_the_interval(count: int) -> None:
    samples = np.random.default_rng(1).lognormal(0, 0.05, count)
    lows, highs = np.percentile(drawn(samples, seed=3, draws=20_000), [2.5, 97.5])
    _, low, high = median_interval(samples)
    ordered = np.sort(samples)
    rank = int(np.searchsorted(ordered, low))
    # The interval is at least as wide as it must be, up to the next sample inwards.
    assert low <= lows <= ordered[rank + 1]
    assert ordered[-2 - rank] <= highs <= high


def test_draws_scatter_as_medians_do() -> None:
    random = np.random.default_rng(1)
    every = random.lognormal(0, 0.05, (400, 50))
    errors = [np.std(drawn(own, seed)) for seed, own in enumerate(every)]
    assert np.mean(errors) == pytest.approx(np.std(np.median(every, axis=1)), rel=0.1)


def test_draws_of_rounds_in_turn_are_joint() -> None:
    """What both have in common cancels in their ratio, also where one has more rounds."""
    random = np.random.default_rng(1)
    shared = random.normal(0, 0.05, 60)
    one, other = (np.exp(shared + random.normal(0, 0.005, 60)) for _ in range(2))
    for rounds in (60, 40):
        in_turn = [bootstrap_medians_of_each(own[None, :], [7])[0] for own in (one[:rounds], other)]
        apart = bootstrap_medians_of_each(other[None, :], [8])[0]
        assert np.std(in_turn[0] / in_turn[1]) < 0.8 * np.std(in_turn[0] / apart)


def test_draws_go_beyond_the_extremes_where_these_are_too_near() -> None:
    drifting = np.linspace(1.0, 1.1, 12)[None, :]
    draws = bootstrap_medians_of_each(drifting, [1])
    assert 0 < draws.min() < 1.0
    assert 1.1 < draws.max() < 2


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_few_rounds_have_draws_between_and_around_them(count: int) -> None:
    draws = bootstrap_medians_of_each(np.linspace(1.0, 1.1, count)[None, :], [1])
    assert np.isfinite(draws).all()
    assert (draws > 0).all()


def test_draws_depend_on_the_seed_only() -> None:
    samples = np.arange(1.0, 32.0)
    assert np.array_equal(drawn(samples, 1), drawn(samples, 1))
    assert not np.array_equal(drawn(samples, 1), drawn(samples, 2))


def test_draws_of_two_records_are_independent() -> None:
    samples = np.random.default_rng(1).normal(10, 1, 31)
    one, other = drawn(samples, 1), drawn(samples, 2)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(DRAWS)


def test_every_bit_of_a_seed_changes_the_order() -> None:
    seeds = [0, *(1 << bit for bit in range(30))]
    orders = bootstrap_medians_of_each(np.tile(np.arange(1.0, 32.0), (len(seeds), 1)), seeds)
    correlations = np.triu(np.corrcoef(orders), 1)
    assert np.abs(correlations).max() < 5 / math.sqrt(DRAWS)


def test_many_at_once_are_what_each_is_alone() -> None:
    samples = np.random.default_rng(1).lognormal(size=(3, 15))
    medians = bootstrap_medians_of_each(samples, [4, 5, 6], widths=np.ones(3))
    intervals = median_intervals(samples)
    for row, own in enumerate(samples):
        assert medians[row] == pytest.approx(drawn(own, row + 4))
        assert intervals[row] == median_interval(own)


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
