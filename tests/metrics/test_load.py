"""The highest rate that keeps a limit, from what rates showed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from synthetic import case, measured

from pytest_ngraph.load import Load, Rate, simulate
from pytest_ngraph.metrics import compute
from pytest_ngraph.metrics.load import AROUND, highest_of, highest_rate, next_rate, shown_by, steepness_of
from pytest_ngraph.stats import Estimate

CALL_S = 0.01
LIMIT_S = 0.1
TRUE = 77.46
"""Requests a second at which p99 of calls of 10 ms is 100 ms: Lindley's recursion over 3 million requests."""
REQUESTS = 700
UNDER_LOAD = case(objective="serving")


def searched(seed: int = 0, guess: float = TRUE, call_s: Callable[[], float] = lambda: CALL_S) -> Load:
    load = Load(limit_s=LIMIT_S, call_s=CALL_S)
    while per_s := next_rate([rate.shows for rate in load.rates], guess):
        own = 100 * seed + len(load.rates)
        rate = simulate(per_s, REQUESTS, call_s, seed=own)
        shows = shown_by(rate, load, REQUESTS, seed=own, batch=1)
        load = replace(load, rates=(*load.rates, replace(rate, shows=shows)))
    return load


def found(load: Load) -> Estimate:
    estimate = highest_rate(load)
    assert isinstance(estimate, Estimate), estimate
    return estimate


@pytest.mark.parametrize("guess", [TRUE, 60.0])
def test_the_rate_is_found(guess: float) -> None:
    value, low, high = found(searched(guess=guess))
    assert value == pytest.approx(TRUE, rel=0.02)
    assert low < TRUE < high
    assert high - low < 0.1 * TRUE


def test_a_rate_far_above_shows_the_highest_one_too() -> None:
    """p99 is then a thousand times as long as a call."""
    call_s, limit_s, requests = 1e-4, 5e-3, 3000
    load = Load(limit_s=limit_s, call_s=call_s)
    over = simulate(2 / call_s, requests, lambda: call_s, seed=1)
    assert shown_by(over, load, requests, seed=1, batch=1) == pytest.approx(highest_of(call_s, load, batch=1), rel=0.03)


def test_calls_that_vary_are_served_at_a_lower_rate() -> None:
    draw = random.Random(0)
    estimate = found(searched(call_s=lambda: CALL_S * draw.choice([0.2, 1.8])))
    assert estimate.high < TRUE


def test_the_rates_to_measure_are_around_what_the_others_show() -> None:
    assert next_rate([], 50) == 50
    assert next_rate([40, 90], 50) == pytest.approx(60 * AROUND[2])
    assert next_rate([60] * len(AROUND), 50) is None


def next_to_the_limit() -> tuple[Load, float]:
    """Return a load, and what a rate shows of it: calls vary by 5 %, and the median one leaves only 3 % to wait."""
    load, draw = Load(limit_s=0.010, call_s=0.0047, batch_wait_s=0.005), random.Random(0)
    how = {"batch": 8, "batch_wait_s": load.batch_wait_s}
    rate = simulate(1000, REQUESTS, lambda: load.call_s * draw.uniform(0.95, 1.05) + 3e-4, **how)  # type: ignore[arg-type]
    return load, shown_by(rate, load, REQUESTS, seed=0, batch=8)


def test_calls_that_take_longer_than_the_limit_leaves_are_served_at_no_rate() -> None:
    load, shows = next_to_the_limit()
    assert not load.is_hopeless
    assert shows == 0
    assert highest_of(0.0051, load, batch=8) == 0


def test_calls_that_leave_nothing_to_wait_are_served_where_hardly_a_request_waits() -> None:
    load = Load(limit_s=0.0097, call_s=0.0047, batch_wait_s=0.005)
    assert 0.005 / load.call_s <= highest_of(load.call_s, load, batch=8) < 8 / load.call_s
    assert highest_of(0.1, Load(limit_s=0.1, call_s=0.1), batch=1) == pytest.approx(0.1, rel=1)


def of_rates(*shows: float) -> Load:
    rates = tuple(Rate(per_s=50, seconds=(0.1,), calls=1, shows=each) for each in shows)
    return Load(limit_s=0.1, call_s=0.05, rates=rates)


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        ((0,), (0, 0, float("inf"))),
        ((0, 0, 0, 0), (0, 0, 0)),
        ((0, 40, 0, 0, 0), (0, 0, 40)),
        ((40, 0, 50, 60), (45, 0, 60)),
    ],
)
def test_rates_that_show_that_none_keeps_the_limit_count(shows: tuple[float, ...], expected: tuple[float, ...]) -> None:
    assert found(of_rates(*shows)) == expected


def test_after_a_rate_that_shows_that_none_keeps_the_limit_the_others_decide() -> None:
    assert next_rate([0.0], 50) == pytest.approx(50 * AROUND[1])
    assert next_rate([0.0, 60.0], 50) == pytest.approx(60 * AROUND[2])
    assert next_rate([0.0] * 4, 50) is None, "the others would not change the median"


def test_it_is_a_metric_of_the_case() -> None:
    load = replace(searched(), steepness=1.5)
    metrics = compute([measured(UNDER_LOAD, CALL_S, load=load), measured(case("openvino"), CALL_S)])
    assert metrics[UNDER_LOAD]["max_rate"].estimate == found(load)
    assert metrics[UNDER_LOAD]["max_rate"].steepness == 1.5
    assert "--objective=serving" in metrics[case("openvino")]["max_rate"].absent
    assert metrics[UNDER_LOAD]["latency_s"].estimate is not None


def test_how_steep_the_highest_rate_is() -> None:
    """Where a call takes half of the limit, one that is 1 % slower costs 12 % of the rate."""
    steepness = [
        steepness_of(replace(of_rates(rate, rate), call_s=call_s), batch=1)
        for rate, call_s in ((2.52, 0.05), (TRUE, CALL_S))
    ]
    assert steepness == pytest.approx([12.5, 1.3], rel=0.1)
    assert steepness_of(of_rates(0, 0), batch=1) == 1


def test_a_call_that_takes_longer_than_the_limit_has_a_rate_of_zero() -> None:
    load = Load(limit_s=0.1, call_s=0.2)
    assert load.is_hopeless
    assert found(load) == (0, 0, 0)


def test_why_nothing_was_measured_is_the_reason() -> None:
    assert highest_rate(Load(limit_s=1, call_s=0.1, problem="too few")) == "too few"
    assert highest_rate(Load(limit_s=1, call_s=0.1)) == "the load ended early"
