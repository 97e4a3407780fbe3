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
    ONE,
    Estimate,
    Floats,
    Sampled,
    bootstrap_medians,
    interval_rank,
    median_interval,
    relative_half_width,
    weighted_sum,
)

rounds = arrays(np.float64, st.integers(1, 40), elements=st.floats(1e-6, 1e3))
enough_rounds = arrays(np.float64, st.integers(FEWEST_ROUNDS, 40), elements=st.floats(1e-6, 1e3))


def sampled(samples: Floats, seed: int = 0) -> Sampled:
    return Sampled(float(np.median(samples)), bootstrap_medians(samples, seed), len(samples) >= FEWEST_ROUNDS)


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


def test_bootstrap_interval_of_a_ratio_covers_it() -> None:
    random = np.random.default_rng(3)
    covered = []
    for trial in range(1000):
        above, below = (sampled(random.lognormal(0, 0.1, 20), 2 * trial + arm) for arm in range(2))
        _, low, high = (above / below).estimate()
        covered.append(low <= 1.0 <= high)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_too_few_samples_have_an_infinite_interval() -> None:
    assert median_interval(np.array([1.0, 2.0, 3.0])) == Estimate(2.0, -math.inf, math.inf)
    assert not sampled(np.array([1.0, 1.0])).estimate().is_bounded


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


@pytest.mark.parametrize("count", [7, 8, 20, 21])
def test_draws_have_the_distribution_of_medians_of_resamples(count: int) -> None:
    samples = np.random.default_rng(1).lognormal(size=count)
    resampled = np.median(np.random.default_rng(2).choice(samples, (100_000, count)), axis=1)
    draws = bootstrap_medians(samples, seed=3, draws=5000)
    assert draws.shape == (5000,)
    assert draws.mean() == pytest.approx(resampled.mean(), rel=0.005)
    assert draws.std() == pytest.approx(resampled.std(), rel=0.02)


def test_draws_depend_on_the_seed_only() -> None:
    samples = np.arange(1.0, 12.0)
    assert np.array_equal(bootstrap_medians(samples, 1), bootstrap_medians(samples, 1))
    assert not np.array_equal(bootstrap_medians(samples, 1), bootstrap_medians(samples, 2))


def test_draws_of_two_records_are_independent() -> None:
    samples = np.random.default_rng(1).normal(10, 1, 31)
    one, other = bootstrap_medians(samples, 1), bootstrap_medians(samples, 2)
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / math.sqrt(DRAWS)


@given(enough_rounds, enough_rounds, st.floats(0.1, 10))
def test_ratio_contains_its_value_and_knows_no_unit(above: Floats, below: Floats, unit: float) -> None:
    ratio = (sampled(above, 1) / sampled(below, 2)).estimate()
    assert ratio.low <= ratio.value <= ratio.high
    assert (sampled(above * unit, 1) / sampled(below * unit, 2)).estimate() == pytest.approx(ratio)


@given(rounds)
def test_ratio_to_itself_is_one(samples: Floats) -> None:
    own = sampled(samples)
    assert own / own is ONE
    assert ONE.estimate() == Estimate.exactly(1.0)


def test_what_numerator_and_denominator_share_cancels() -> None:
    shared, a, b = (sampled(np.random.default_rng(seed).lognormal(0, 0.1, 20), seed) for seed in range(3))
    assert ((a / shared) / (b / shared)).estimate() == pytest.approx((a / b).estimate())


def test_weighted_sum_by_hand() -> None:
    parts = [Sampled(2.0, np.full(DRAWS, 3.0)), Sampled(5.0, np.full(DRAWS, 7.0), known=False)]
    total = weighted_sum(np.array([10.0, -1.0]), parts)
    assert total.value == 15.0
    assert np.all(total.draws == 23.0)
    assert not total.known


def test_relative_half_width() -> None:
    assert relative_half_width(Estimate(2.0, 1.9, 2.1)) == pytest.approx(0.05)
    assert relative_half_width(Estimate(0.0, -1.0, 1.0)) == math.inf
