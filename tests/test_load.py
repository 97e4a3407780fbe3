"""Requests under load in simulated time: against the formulas of queueing theory, and by hand."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from statistics import fmean

import pytest

from pytest_ngraph.load import Load, Rate, Simulated, one_by_one, schedule, serve, simulate

CALL_S = 0.01
REQUESTS = 150_000


def mean_wait(utilization: float, call_s: Callable[[], float]) -> float:
    due = schedule(utilization / CALL_S, REQUESTS, seed=1)
    time = Simulated(due, call_s)
    served = serve(due, time, time.answer, time.clock)
    return fmean(begun - asked for asked, begun in zip(due, served.begun, strict=True))


@pytest.mark.parametrize("utilization", [0.3, 0.7])
def test_constant_calls_wait_as_m_d_1_does(utilization: float) -> None:
    formula = utilization * CALL_S / (2 * (1 - utilization))
    assert mean_wait(utilization, lambda: CALL_S) == pytest.approx(formula, rel=0.03)


@pytest.mark.parametrize("utilization", [0.3, 0.7])
def test_exponential_calls_wait_as_m_m_1_does(utilization: float) -> None:
    draw = random.Random(2)
    formula = utilization * CALL_S / (1 - utilization)
    assert mean_wait(utilization, lambda: draw.expovariate(1 / CALL_S)) == pytest.approx(formula, rel=0.03)


def test_a_schedule_has_the_rate_and_the_gaps_of_a_poisson_process() -> None:
    due = schedule(50, 100_000, seed=0)
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert fmean(gaps) == pytest.approx(0.02, rel=0.01)
    assert sum(gap > 0.02 for gap in gaps) / len(gaps) == pytest.approx(0.3679, abs=0.01)
    assert due == schedule(50, 100_000, seed=0) != schedule(50, 100_000, seed=1)


def served(due: list[float], call_s: float, **batching: float) -> tuple[list[float], list[float], int]:
    time = Simulated(due, lambda: call_s)
    found = serve(due, time, time.answer, time.clock, **batching)  # type: ignore[arg-type]
    return found.begun, found.ended, found.calls


def test_a_slow_answer_delays_those_that_arrive_meanwhile_and_counts_from_when_they_were_due() -> None:
    assert served([1, 2, 9], 4) == ([1, 5, 9], [5, 9, 13], 3)


@pytest.mark.parametrize("utilization", [0.3, 0.9, 1.2])
def test_one_by_one_they_are_answered_as_the_queue_does(utilization: float) -> None:
    due = schedule(utilization / CALL_S, 2000, seed=3)
    one, other = random.Random(4), random.Random(4)
    time = Simulated(due, lambda: one.uniform(0, 2 * CALL_S))
    queued = serve(due, time, time.answer, time.clock)
    assert one_by_one(due, lambda: other.uniform(0, 2 * CALL_S)) == queued


def test_one_call_answers_those_that_wait() -> None:
    assert served([1, 2, 3, 4, 20], 4, batch=2) == ([1, 5, 5, 9, 20], [5, 9, 9, 13, 24], 4)


def test_a_call_waits_until_the_batch_is_full_or_the_first_has_waited_long_enough() -> None:
    assert served([1, 2, 10, 14], 1, batch=2, batch_wait_s=3) == ([2, 2, 13, 14], [3, 3, 14, 15], 3)


def test_the_first_requests_do_not_count() -> None:
    rate = simulate(50, 1000, lambda: CALL_S)
    assert len(rate.seconds) == 900
    assert rate.calls == 1000
    assert min(rate.seconds) == pytest.approx(CALL_S)


def test_a_load_is_json_and_back() -> None:
    load = Load(limit_s=0.1, call_s=0.01, rates=(Rate(per_s=5, seconds=(0.1, 0.2), calls=2),), generator="x")
    assert Load.from_dict(load.to_dict()) == load
