"""Candidates beside each other: what slows all of a cycle is none of their differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from synthetic import case, failed, measured

from pytest_ngraph.advise.speeds import speeds
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Floats

FAST, SLOW, EAGER = (case(name, 4) for name in ("openvino", "onnxruntime", "identity"))


def side_by_side(*seconds: Floats) -> list[Record]:
    """Return records whose n-th rounds ran in the n-th cycle."""
    cases = (FAST, SLOW, EAGER)
    return [replace(measured(own, each.tolist()), cycles="a1b2") for own, each in zip(cases, seconds, strict=False)]


def test_slow_cycles_do_not_change_the_order() -> None:
    """Most cycles of one candidate beside some that are slow for both would make it look slower."""
    cycles = np.array([1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5])
    noise = np.array([1.04, 1.04, 1.04, 0.98, 0.98, 0.98, 0.98])
    records = side_by_side(0.100 * cycles * noise, 0.101 * cycles, 0.2 * cycles)
    assert records[0].throughput > records[1].throughput
    found = speeds([records])
    assert found[FAST] / found[SLOW] == pytest.approx(1.01 / 0.98, rel=0.01)
    assert found[FAST] / found[EAGER] == pytest.approx(2.0 / 0.98, rel=0.01)


def test_drift_is_taken_away() -> None:
    random = np.random.default_rng(3)
    errors = []
    for _ in range(200):
        cycles = np.exp(np.cumsum(random.normal(0, 0.1, 10)))
        records = side_by_side(*(each * cycles * np.exp(random.normal(0, 0.01, 10)) for each in (0.1, 0.103, 0.2)))
        own, apart = speeds([records]), {record.case: record.throughput for record in records}
        errors.append([np.log(each[FAST] / each[SLOW] / 1.03) for each in (own, apart)])
    ours, medians = np.sqrt(np.mean(np.square(errors), axis=0))
    assert ours < 0.006 < 0.008 < medians


def test_absolute_speeds_are_those_of_cycles_as_slow_as_most() -> None:
    records = side_by_side(*(each * np.array([1.0, 1.1, 1.2, 1.1, 1.0]) for each in (0.1, 0.2)))
    found = speeds([records])
    assert (found[FAST], found[SLOW]) == pytest.approx((4 / 0.11, 4 / 0.22))


def test_a_candidate_that_ended_sooner_is_compared_in_the_cycles_that_it_ran() -> None:
    cycles = np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    records = side_by_side(0.1 * cycles, 0.11 * cycles, 0.2 * cycles[:3])
    found = speeds([records])
    assert found[FAST] / found[EAGER] == pytest.approx(2.0, rel=0.01)
    assert records[0].throughput / records[2].throughput == pytest.approx(4.0)


def test_rounds_of_other_cycles_and_a_candidate_alone_have_their_medians() -> None:
    apart = [replace(record, cycles="") for record in side_by_side(np.full(6, 0.1), np.full(6, 0.2))]
    alone = side_by_side(np.array([0.1, 0.1, 0.3]))
    for records in (apart, alone):
        assert speeds([records]) == {record.case: record.throughput for record in records}


def test_the_last_group_of_a_case_counts() -> None:
    before, now = side_by_side(np.full(6, 0.1), np.full(6, 0.2)), side_by_side(np.full(6, 0.3))
    assert speeds([before, now, [failed(SLOW)]]) == pytest.approx({FAST: 4 / 0.3, SLOW: 4 / 0.2})
