"""The statistics of the comparison's tables, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from comparing import figures


def test_coefficient_of_variation_is_of_each_row() -> None:
    # Means 2 and 10; of 1, 2, 3 the squares add up to 2, over n - 1 that is 1.
    assert figures.coefficient_of_variation([[1, 2, 3], [10, 10, 10]]) == pytest.approx([0.5, 0])


def test_spreads_are_pooled_by_their_squares() -> None:
    assert figures.root_mean_square([0.03, 0.04]) == pytest.approx(math.sqrt((9 + 16) / 2) / 100)


def test_a_spread_of_double_size_has_the_ratio_two() -> None:
    # Nine sessions leave eight degrees of freedom to each: the interval's factor is exp(1.96 sqrt(1 / 16 + 1 / 16)).
    off = np.array([[1, -2, 3, -1, -1, 2, 4, -5, -1]]) * 1e-6
    assert tuple(figures.spread_ratio(1 + 2 * off, 1 + off)) == pytest.approx((2, 2 / 1.9996, 2 * 1.9996), rel=1e-4)


def test_networks_that_spread_alike_have_their_degrees_of_freedom_in_common() -> None:
    sessions = np.array([[1, 2, 3], [10, 20, 30]])  # 2 times 2: exp(1.96 sqrt(1 / 8 + 1 / 8))
    assert tuple(figures.spread_ratio(sessions, sessions)) == pytest.approx((1, 1 / 2.6644, 2.6644), rel=1e-4)


def test_a_network_that_does_not_spread_adds_no_degrees_of_freedom() -> None:
    sessions = np.array([[1, 2, 3], [10, 10, 10]])  # 2: exp(1.96 sqrt(1 / 4 + 1 / 4))
    assert tuple(figures.spread_ratio(sessions, sessions)) == pytest.approx((1, 1 / 3.9984, 3.9984), rel=1e-4)


def test_ratios_are_taken_pair_by_pair() -> None:
    # 1, 2, ..., 7 over ones: the median is 4, and of seven the extremes enclose it in 1 - 2 / 2^7 of the cases.
    assert tuple(figures.paired_ratio(np.arange(2, 16, 2), np.full(7, 2))) == (4, 1, 7)


def test_five_pairs_have_no_interval() -> None:
    assert not figures.paired_ratio(np.ones(5), np.ones(5)).is_bounded


@pytest.mark.parametrize(("costs", "slope"), [([2, 20, 200], 1), ([1, 100, 10_000], 2), ([3, 3, 3], 0)])
def test_slope_is_the_exponent(costs: list[float], slope: float) -> None:
    assert figures.slope([10, 100, 1000], costs) == pytest.approx(slope, abs=1e-9)


def test_slope_is_that_of_least_squares() -> None:
    # ln sizes 0, 1, 2 and ln costs 0, 0, 1: the sum of (x - 1) y is 1, that of (x - 1)^2 is 2.
    assert figures.slope([1, math.e, math.e**2], [1, 1, math.e]) == pytest.approx(0.5)


def test_share_within_counts_both_sides() -> None:
    assert figures.share_within([0.98, 0.995, 1.005, 1.02], 1.0, 0.01) == 0.5
