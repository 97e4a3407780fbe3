from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ngraph.metrics.sampled import Sampled
from pytest_ngraph.stats import FEWEST_ROUNDS, Estimate, Floats
from pytest_ngraph.stats.bootstrap import DRAWS, bootstrap_medians_of_each

enough_rounds = arrays(np.float64, st.integers(FEWEST_ROUNDS, 40), elements=st.floats(1e-6, 1e3))


def sampled(samples: Floats, seed: int = 0) -> Sampled:
    known = np.array([len(samples) >= FEWEST_ROUNDS])
    return Sampled(np.array([np.median(samples)]), bootstrap_medians_of_each(samples[None, :], [seed]), known)


@pytest.mark.parametrize("in_turn", [True, False])
def test_bootstrap_interval_of_a_ratio_covers_it(in_turn: bool) -> None:
    random = np.random.default_rng(3)
    covered = []
    for trial in range(1000):
        shared = random.normal(0, 0.2, 20) if in_turn else np.zeros(20)
        samples = (np.exp(shared + random.normal(0, 0.1, 20)) for _ in range(2))
        above, below = (sampled(own, 2 * trial + arm * (not in_turn)) for arm, own in enumerate(samples))
        _, low, high = (above / below).estimates()[0]
        covered.append(low <= 1.0 <= high)
    assert np.mean(covered) >= 0.95


def test_bounds_are_draws_of_their_rank() -> None:
    draws = np.random.default_rng(4).lognormal(0, 1e-3, (50, DRAWS))
    bounds = Sampled(np.median(draws, axis=1), draws, np.ones(50, dtype=np.bool_)).estimates()
    ordered = np.sort(draws, axis=1)
    for found, rank in ((bounds.lows, 12), (bounds.highs, -13)):
        assert found == pytest.approx(ordered[:, rank], rel=1e-7)
        assert (draws == found[:, None]).any(axis=1).all()


def test_too_few_samples_have_an_infinite_interval() -> None:
    few, many = sampled(np.array([1.0, 1.0])), sampled(np.ones(9))
    assert (few / many).estimates()[0] == Estimate(1.0, -math.inf, math.inf)


@given(enough_rounds, enough_rounds, st.sampled_from([0.125, 0.5, 8.0]))  # other units make or break ties by rounding
def test_ratio_contains_its_value_and_knows_no_unit(above: Floats, below: Floats, unit: float) -> None:
    ratio = (sampled(above, 1) / sampled(below, 2)).estimates()[0]
    assert ratio.low <= ratio.value <= ratio.high
    assert (sampled(above * unit, 1) / sampled(below * unit, 2)).estimates()[0] == pytest.approx(ratio)


def test_what_numerator_and_denominator_share_cancels() -> None:
    shared, a, b = (sampled(np.random.default_rng(seed).lognormal(0, 0.1, 20), seed) for seed in range(3))
    assert ((a / shared) / (b / shared)).estimates()[0] == pytest.approx((a / b).estimates()[0])


def test_sums_by_hand() -> None:
    parts = Sampled(
        np.array([2.0, 5.0, 1.0]),
        np.array([[3.0], [7.0], [4.0]]) * np.ones((1, DRAWS)),
        np.array([True, False, True]),
    )
    total = parts.scaled(np.array([10.0, -1.0, 2.0])).sums(np.array([0, 2]))
    assert total.values.tolist() == [15.0, 2.0]
    assert total.draws[:, 0].tolist() == [23.0, 8.0]
    assert total.known.tolist() == [False, True]


def test_rows_are_taken_in_the_order_asked_for() -> None:
    parts = Sampled(np.array([1.0, 2.0]), np.array([[1.0], [2.0]]), np.array([True, False]))
    taken = parts.take(np.array([1, 0, 1]))
    assert taken.values.tolist() == [2.0, 1.0, 2.0]
    assert taken.known.tolist() == [False, True, False]
    assert (taken - parts.take(np.array([0, 0, 0]))).values.tolist() == [1.0, 0.0, 1.0]
