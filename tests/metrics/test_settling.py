"""When questions about numbers are settled, from made-up estimates."""

from __future__ import annotations

import math

import pytest

from pytest_ngraph.metrics.between import IN_GENERAL, NO_SPREAD, Spread
from pytest_ngraph.metrics.settling import order_settled, side_settled, widening
from pytest_ngraph.stats import Estimate

QUIET = Spread(0.002, 50)
"""Processes of a machine that was calibrated."""


def about(value: float, share: float) -> Estimate:
    return Estimate(value, value * (1 - share), value * (1 + share))


def test_errors_are_widened_from_look_to_look() -> None:
    found = [widening(look) for look in range(1, 9)]
    assert found == sorted(found)
    assert found[0] > 1
    assert found[-1] < 2


@pytest.mark.parametrize(
    ("ahead", "error", "spread", "state"),
    [
        (1.50, 0.010, IN_GENERAL.pair, "sure"),
        (1.015, 0.005, IN_GENERAL.pair, "near"),  # behind by more than 2 % is unlikely enough
        (1.000, 0.005, IN_GENERAL.pair, "hopeless"),
        (1.000, 0.100, IN_GENERAL.pair, "open"),
        (1.010, 0.003, QUIET, "sure"),
        (1.001, 0.003, QUIET, "near"),
        (1.001, 0.030, QUIET, "open"),
    ],
)
def test_the_order_of_two(ahead: float, error: float, spread: Spread, state: str) -> None:
    found = order_settled(about(ahead, error), about(1.0, error), spread, level=0.05, look=1, tolerance=0.02)
    assert found == state


def test_nothing_is_settled_without_an_interval() -> None:
    unknown = Estimate(1.0, 0.0, math.inf)
    assert order_settled(about(9.0, 0.01), unknown, IN_GENERAL.pair, 0.05, 1, 0.02) == "open"


@pytest.mark.parametrize(
    ("value", "spread", "state"),
    [
        (1.3, IN_GENERAL.of((1.0,)), "sure"),
        (0.7, IN_GENERAL.of((1.0,)), "sure"),
        (1.02, IN_GENERAL.of((1.0,)), "hopeless"),
        (1.02, NO_SPREAD, "sure"),
        (1.005, NO_SPREAD, "open"),
    ],
)
def test_the_side_of_a_bound(value: float, spread: Spread, state: str) -> None:
    assert side_settled(about(value, 0.01), 1.0, spread, level=0.025, look=1) == state
