"""Bootstrap draws of medians."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pytest_ngraph.stats import Floats, median_interval
from pytest_ngraph.stats.bootstrap import DRAWS, bootstrap_medians_of_each


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
    for row, own in enumerate(samples):
        assert medians[row] == pytest.approx(drawn(own, row + 4))
