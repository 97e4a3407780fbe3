"""Whether a record keeps limits, surely or not."""

from __future__ import annotations

from typing import Any

import pytest
from launched import costs
from synthetic import case, measured, noisy

from pytest_ngraph.advise.limits import Limits
from pytest_ngraph.costs import Costs
from pytest_ngraph.metrics.between import IN_GENERAL
from pytest_ngraph.record import Agreement, Record

CALLS = tuple(([0.010] * 49 + [0.015]) * 40)
SERVED = measured(
    case("openvino"),
    0.01,
    calls=CALLS,
    serving=costs(),
    agreement=Agreement(error=1e-3, tolerance=1e-2),
    score=0.75,
)


def states(record: Record, **limits: Any) -> list[str]:
    return [each.state for each in Limits(**limits).held(record, IN_GENERAL)]


@pytest.mark.parametrize(
    ("limits", "state"),
    [
        ({"p99_s": 0.5}, "kept"),
        ({"p99_s": 0.0151}, "unsure"),  # other processes may differ by more
        ({"p99_s": 0.010}, "breached"),
        ({"memory_bytes": 2**40}, "kept"),
        ({"memory_bytes": 1}, "breached"),
        ({"cold_start_s": 100.0}, "kept"),
        ({"cold_start_s": 0.001}, "breached"),
        ({"error": 1e-2}, "kept"),
        ({"error": 1e-4}, "breached"),
        ({"score": 0.75}, "kept"),
        ({"score": 0.76}, "breached"),
        ({"throughput": 10.0}, "kept"),
        ({"throughput": 99.9}, "unsure"),
        ({"throughput": 200.0}, "breached"),
    ],
)
def test_a_record_with_everything(limits: dict[str, float], state: str) -> None:
    assert states(SERVED, **limits) == [state]


def test_what_was_not_measured_is_unknown_unless_the_median_shows_it() -> None:
    bare = noisy(case("openvino"), 0.01)
    assert states(bare, p99_s=0.02, memory_bytes=1, cold_start_s=1.0) == ["unknown"] * 3
    assert states(bare, p99_s=0.005) == ["breached"]
    assert states(bare) == []


def test_what_cannot_be_deployed_is_not_advised() -> None:
    record = measured(case("inductor"), 0.01, serving=Costs(problem="it cannot be deployed: no package"))
    for limits in (Limits(), Limits(memory_bytes=2**40)):
        (held,) = limits.held(record, IN_GENERAL)
        assert held == ("breached", "it cannot be deployed: no package")
