"""Throughputs and their ratios with bootstrap draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pytest_ngraph.metrics.rates import Rates, logs_of_rates
from pytest_ngraph.stats import FEWEST_ROUNDS, Estimate, Floats
from pytest_ngraph.stats.bootstrap import bootstrap_medians_of_each

enough_rounds = arrays(np.float64, st.integers(FEWEST_ROUNDS, 40), elements=st.floats(1e-6, 1e3))


def rates(samples: Floats, seed: int = 0) -> Rates:
    known = np.array([len(samples) >= FEWEST_ROUNDS])
    median = np.array([np.median(samples)])
    return Rates(1 / median, logs_of_rates(median, bootstrap_medians_of_each(samples[None, :], [seed])), known)


@pytest.mark.parametrize("in_turn", [True, False])
def test_bootstrap_interval_of_a_ratio_covers_it(in_turn: bool) -> None:
    random = np.random.default_rng(3)
    covered = []
    for trial in range(1000):
        shared = random.normal(0, 0.2, 20) if in_turn else np.zeros(20)
        samples = (np.exp(shared + random.normal(0, 0.1, 20)) for _ in range(2))
        above, below = (rates(own, 2 * trial + arm * (not in_turn)) for arm, own in enumerate(samples))
        _, low, high = (above / below).estimates()[0]
        covered.append(low <= 1.0 <= high)
    assert np.mean(covered) >= 0.95


def test_too_few_samples_have_an_infinite_interval() -> None:
    few, many = rates(np.array([1.0, 1.0])), rates(np.ones(9))
    assert (few / many).estimates()[0] == Estimate(1.0, -math.inf, math.inf)


@given(enough_rounds, enough_rounds, st.sampled_from([0.125, 0.5, 8.0]))  # other units make or break ties by rounding
def test_ratio_contains_its_value_and_knows_no_unit(above: Floats, below: Floats, unit: float) -> None:
    ratio = (rates(above, 1) / rates(below, 2)).estimates()[0]
    assert ratio.low <= ratio.value <= ratio.high
    assert (rates(above * unit, 1) / rates(below * unit, 2)).estimates()[0] == pytest.approx(ratio)


def test_what_numerator_and_denominator_share_cancels() -> None:
    shared, a, b = (rates(np.random.default_rng(seed).lognormal(0, 0.1, 20), seed) for seed in range(3))
    assert ((a / shared) / (b / shared)).estimates()[0] == pytest.approx((a / b).estimates()[0])


def test_equal_samples_have_no_interval() -> None:
    a, b = rates(np.full(9, 0.3), 1), rates(np.full(9, 0.7), 2)
    assert (a / b).estimates()[0] == Estimate.exactly((1 / 0.3) / (1 / 0.7))
    assert (a / b).log().estimates()[0] == Estimate.exactly(math.log((1 / 0.3) / (1 / 0.7)))


def test_added_draws_are_what_was_drawn() -> None:
    own = rates(np.random.default_rng(1).lognormal(0, 0.1, 20))
    linear, logarithms = own.linear(), own.log()
    assert linear.values[0] + linear.deviations == pytest.approx(np.exp(logarithms.values[0] + logarithms.deviations))
    assert linear.estimates()[0] == pytest.approx(own.estimates()[0])
