"""What other processes would show: the one definition that every decision uses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_ngraph.metrics.between import (
    IN_GENERAL,
    NO_SPREAD,
    NORMAL,
    PAIR,
    RUN,
    Spread,
    Uncertainty,
    of_difference,
    surely_above,
    total,
    with_between,
)
from pytest_ngraph.stats import Estimate


def test_a_time_varies_as_runs_do_and_a_ratio_as_two_processes_do() -> None:
    assert IN_GENERAL.of([1.0]).deviation == pytest.approx(RUN.deviation)
    assert IN_GENERAL.pair.deviation == pytest.approx(PAIR.deviation)
    assert IN_GENERAL.pair.dof == pytest.approx(PAIR.dof)


def test_what_a_session_has_in_common_cancels_in_its_ratios() -> None:
    """A batch scaling resilience is a ratio of two ratios, of four processes."""
    assert IN_GENERAL.of([1, -1, -1, 1]).deviation == pytest.approx(math.sqrt(2) * PAIR.deviation)


def test_what_a_session_has_in_common_does_not_cancel_in_ratios_of_two_sessions() -> None:
    assert IN_GENERAL.of([1, -1], ["a", "b"]).deviation == pytest.approx(math.sqrt(2) * RUN.deviation)
    assert IN_GENERAL.of([1, -1], ["a", "a"]) == IN_GENERAL.of_ratio("b", "b") == IN_GENERAL.pair
    two_of_each = IN_GENERAL.of([1, -1, -1, 1], ["a", "a", "b", "b"])
    assert two_of_each.deviation == pytest.approx(math.sqrt(2) * PAIR.deviation)
    highest, lower = Estimate(100, 99.9, 100.1), Estimate(90, 89.9, 90.1)
    assert surely_above(highest, [lower], IN_GENERAL) == [True]
    assert surely_above(highest, [lower] * 2, IN_GENERAL, sessions=["a", "a", "b"]) == [True, False]


def test_the_parts_add_in_squares() -> None:
    assert total([Spread(3, 5), Spread(4, 5)]).deviation == 5
    assert total([]) == NO_SPREAD
    assert total([Spread(1, 7), NO_SPREAD]).dof == pytest.approx(7)
    assert Uncertainty(0.0, NO_SPREAD).p(0.1) == 0
    assert Uncertainty(math.inf, PAIR).p(0.1) == 1


def test_reach_and_p_value_agree() -> None:
    found = Uncertainty(0.01, PAIR)
    assert found.p(found.reach(0.01)) == pytest.approx(0.01)
    assert Uncertainty(0.01, NO_SPREAD).reach() == pytest.approx(0.01 * NORMAL, rel=1e-4)


def test_an_interval_grows_on_both_sides_by_its_share() -> None:
    found = with_between(Estimate(2.0, 2.0, 2.0), Spread(0.01, 1e6))
    assert found == pytest.approx((2.0, 2 * math.exp(-0.0196), 2 * math.exp(0.0196)), rel=1e-4)
    few = Estimate(2.0, -math.inf, math.inf)
    assert with_between(few, PAIR) == few


def test_the_interval_of_a_difference_has_what_other_processes_would_show() -> None:
    """Independent errors add in squares: 3 within, and 1 % of 300 and of 400 between, are 5.83."""
    within = Estimate(100.0, 100.0 - 1.96 * 3, 100.0 + 1.96 * 3)
    value, low, high = of_difference(within, 300.0, 400.0, Spread(0.01, 1e6))
    assert (value, low, high) == pytest.approx((100.0, 100 - 1.96 * 5.831, 100 + 1.96 * 5.831), rel=1e-3)
    few = Estimate(2.0, -math.inf, math.inf)
    assert of_difference(few, 1.0, 1.0, PAIR) == few


@pytest.mark.parametrize("others", [1, 4])
def test_the_fastest_is_called_sure_by_luck_in_at_most_5_of_100_sessions(others: int) -> None:
    """All are equally fast, but each process has a speed of its own, which its rounds do not show."""
    random = np.random.default_rng(1)

    def called(session: int) -> tuple[bool, bool]:
        logs = random.normal(0, IN_GENERAL.process.deviation, others + 1)
        rates = sorted((Estimate(v, v * 0.999, v * 1.001) for v in np.exp(logs).tolist()), reverse=True)
        within = all(rates[0].low > each.high for each in rates[1:])
        return all(surely_above(rates[0], rates[1:], IN_GENERAL)), within

    sure, within = np.mean([called(session) for session in range(2000)], axis=0)
    assert sure <= 0.05
    assert within > 0.3, "by the rounds alone it is called far too often"


def test_a_rate_is_surely_above_what_is_much_lower() -> None:
    best, near, far, unknown = (
        Estimate(1.0, 0.99, 1.01),
        Estimate(0.98, 0.97, 0.99),
        Estimate(0.7, 0.69, 0.71),
        Estimate(0.7, 0.0, math.inf),
    )
    assert surely_above(best, [near, far, unknown], IN_GENERAL) == [False, True, False]
    assert surely_above(best, [], IN_GENERAL) == []


@given(
    within=st.just(0.0) | st.floats(1e-100, 1) | st.just(5e-324),
    deviation=st.just(0.0) | st.floats(1e-100, 1) | st.just(5e-324),
    dof=st.floats(0.5, 1e6),
    distance=st.floats(-1, 10) | st.just(math.inf),
    level=st.floats(1e-9, 0.4),
)
def test_a_distance_is_excluded_where_its_p_value_is_small(
    within: float, deviation: float, dof: float, distance: float, level: float
) -> None:
    uncertainty = Uncertainty(within, Spread(deviation, dof))
    p = uncertainty.p(distance)
    assume(abs(p - level) > 1e-9 * level)
    assert uncertainty.excludes(distance, level) == (p <= level)
