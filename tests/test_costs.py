"""Costs to serve as plain data."""

from __future__ import annotations

import json
import math

import pytest
from launched import costs
from synthetic import case, measured

from pytest_ngraph.costs import COSTS, Costs
from pytest_ngraph.record import Record
from pytest_ngraph.stats import Estimate


def test_a_cost_is_the_median_of_six_launches_within_their_extremes() -> None:
    found = costs(1.0, 1.2, 1.1, 1.3, 0.9, 1.0).estimate("cold_start_s")
    assert found == pytest.approx((0.525, 0.45, 0.65))


def test_fewer_launches_have_no_interval() -> None:
    found = costs(1.0, 1.2).estimate("cold_start_s")
    assert found
    assert found.value == pytest.approx(0.55)
    assert found.high == math.inf


def test_a_size_is_exact_and_known_without_a_launch() -> None:
    assert Costs(artifact_bytes=7).estimate("artifact_bytes") == Estimate.exactly(7)


def test_what_is_not_known_has_a_reason() -> None:
    refused = Costs(problem="it cannot be deployed: no")
    assert {refused.estimate(name) for name in COSTS} == {None}
    assert {refused.why_absent(name) for name in COSTS} == {"it cannot be deployed: no"}
    unlisted = costs(install_bytes=None)
    assert unlisted.estimate("install_bytes") is None
    assert unlisted.why_absent("install_bytes") == "an installed package does not list its files"


@pytest.mark.parametrize("serving", [None, costs(1.0, 2.0), Costs(problem="no")])
def test_a_record_keeps_them(serving: Costs | None) -> None:
    record = measured(case(), 0.1, serving=serving)
    assert Record.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_a_record_of_an_earlier_version_has_none() -> None:
    data = measured(case(), 0.1).to_dict()
    del data["serving"]
    assert Record.from_dict(data).serving is None
    assert Record.from_dict(data).reading("cold_start_s") is None
