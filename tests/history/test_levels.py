"""How high some nights lie over others, where some share the error of a link."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_ngraph.history.levels import FLOOR, Chain, changes_between, estimates, noise_of


def test_estimates_are_those_of_generalized_least_squares() -> None:
    random = np.random.default_rng(0)
    values, errors = random.normal(0, 0.01, 30), random.uniform(0.002, 0.01, 30)
    links = (np.arange(30) >= 18, (np.arange(30) > 6) & (np.arange(30) < 12))
    link_errors = (0.01, 0.004)
    first, last, noise = 3, 28, 1.5
    places = np.arange(first + 2, last - 1)
    changes, deviations = estimates(Chain(values, errors, links, link_errors), noise, first, last, places)
    covariance = np.diag((noise * errors) ** 2)
    for link, error in zip(links, link_errors, strict=True):
        covariance += error**2 * np.outer(link, link)
    inverse = np.linalg.inv(covariance[first:last, first:last])
    for place, change, deviation in zip(places, changes, deviations, strict=True):
        design = np.column_stack((np.ones(last - first), np.arange(first, last) >= place))
        normal = np.linalg.inv(design.T @ inverse @ design)
        assert change == pytest.approx((normal @ design.T @ inverse @ values[first:last])[1])
        assert deviation == pytest.approx(np.sqrt(normal[1, 1]))


def test_without_links_a_change_is_the_difference_of_the_means() -> None:
    chain = Chain(np.repeat([0.0, 0.1], 10), np.full(20, 0.003))
    places = np.arange(2, 19)
    found = estimates(chain, 1.0, 0, 20, places)
    between = changes_between(chain, 1.0, np.zeros_like(places), places, np.full_like(places, 20))
    for one, other in zip(found, between, strict=True):
        assert one == pytest.approx(other)


def test_equal_neighbours_do_not_make_the_noise_vanish() -> None:
    """A clock that counts ticks: many medians are equal, to the last digit or up to rounding."""
    values = np.random.default_rng(0).normal(0, 0.02, 4000)
    for tick, ties in ((0.02, 0.2), (0.05, 0.6)):
        rounded = np.round(values / tick) * tick + np.random.default_rng(1).normal(0, 1e-15, len(values))
        assert np.mean(np.abs(np.diff(rounded)) < 1e-9) > ties
        noise, _ = noise_of(Chain(rounded, None))
        assert noise == pytest.approx(np.std(rounded), rel=0.1)
    assert noise_of(Chain(np.zeros(40), None))[0] == FLOOR
    assert noise_of(Chain(np.linspace(0, 1e-12, 40), None))[0] == FLOOR
