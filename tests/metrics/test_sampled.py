"""Statistics with bootstrap draws."""

from __future__ import annotations

import numpy as np

from pytest_ngraph.metrics.sampled import Sampled
from pytest_ngraph.stats.bootstrap import DRAWS


def test_bounds_are_draws_of_their_rank() -> None:
    draws = np.random.default_rng(4).normal(0, 1e-3, (50, DRAWS)).astype(np.float32)
    values = np.median(draws, axis=1).astype(np.float64)
    bounds = Sampled(values, draws, np.ones(50, dtype=np.bool_)).estimates()
    ordered = np.sort(draws, axis=1)
    for found, rank in ((bounds.lows, 12), (bounds.highs, -13)):
        assert np.array_equal(found, values + ordered[:, rank])


def test_sums_by_hand() -> None:
    parts = Sampled(
        np.array([2.0, 5.0, 1.0]),
        np.array([[1.0], [2.0], [3.0]], dtype=np.float32) * np.ones((1, DRAWS), dtype=np.float32),
        np.array([True, False, True]),
    )
    total = parts.scaled(np.array([10.0, -1.0, 2.0])).sums(np.array([0, 2]))
    assert total.values.tolist() == [15.0, 2.0]
    assert (total.values + total.deviations[:, 0]).tolist() == [23.0, 8.0]
    assert total.known.tolist() == [False, True]


def test_rows_are_taken_in_the_order_asked_for() -> None:
    parts = Sampled(np.array([1.0, 2.0]), np.array([[1.0], [2.0]], dtype=np.float32), np.array([True, False]))
    taken = parts.take(np.array([1, 0, 1]))
    assert taken.values.tolist() == [2.0, 1.0, 2.0]
    assert taken.known.tolist() == [False, True, False]
    assert (taken - parts.take(np.array([0, 0, 0]))).values.tolist() == [1.0, 0.0, 1.0]
