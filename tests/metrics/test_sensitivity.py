from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic import case, measured

from pytest_ngraph.case import Case
from pytest_ngraph.metrics import DEFINITIONS, Metric, compute
from pytest_ngraph.metrics.sensitivity import sensitivities

CURVES = [case(compiler, size) for compiler in ("identity", "tvm", "openvino") for size in (1, 4, 16)]
STACKS = [
    case(compiler, 8, workload="conv", depth=depth, width=64) for compiler in ("identity", "tvm") for depth in (1, 2, 4)
]
CASES = [*CURVES, *STACKS]
SECONDS = st.lists(st.floats(1e-3, 1), min_size=len(CASES), max_size=len(CASES))


def values(seconds: list[float]) -> dict[tuple[str, object], Metric]:
    metrics = compute([measured(each, value) for each, value in zip(CASES, seconds, strict=True)])
    return {(metric.name, metric.scope): metric for metric in metrics}


@settings(max_examples=25, deadline=None)
@given(SECONDS, SECONDS)
def test_a_metric_changes_by_the_weighted_sum_of_what_its_cases_do(base: list[float], head: list[float]) -> None:
    """Check every metric against its own formula."""
    before, after = values(base), values(head)
    changes = {each: math.log(new / old) for each, new, old in zip(CASES, head, base, strict=True)}
    for found in sensitivities(CASES):
        one, other = (side[found.name, found.scope].estimate for side in (before, after))
        assert one
        assert other
        difference = DEFINITIONS[found.name].change == "difference"
        change = other.value - one.value if difference else math.log(other.value / one.value)
        assert change == pytest.approx(sum(w * changes[each] for each, w in found.weights.items()), abs=1e-9)


def test_each_metric_that_follows_from_times_is_there_once() -> None:
    followed = [(each.name, each.scope) for each in sensitivities(CASES)]
    assert len(set(followed)) == len(followed)
    expected = {
        key
        for key, metric in values([0.1] * len(CASES)).items()
        if metric.estimate and not metric.by_definition and DEFINITIONS[metric.name].change in ("share", "difference")
    }
    assert set(followed) == expected


def weights(name: str, of: object, cases: list[Case]) -> Any:
    return next((dict(each.weights) for each in sensitivities(cases) if (each.name, each.scope) == (name, of)), None)


def test_bsr_by_hand() -> None:
    cells = {name: case(*name) for name in (("tvm", 1), ("tvm", 16), ("identity", 1), ("identity", 16))}
    assert weights("bsr", cells["tvm", 16], CASES) == {
        cells["tvm", 16]: -1,
        cells["tvm", 1]: 1,
        cells["identity", 16]: 1,
        cells["identity", 1]: -1,
    }


def test_what_lacks_a_case_is_left_out() -> None:
    alone = [case("tvm", 16)]
    assert {each.name for each in sensitivities(alone)} == {"throughput", "latency_s"}
    assert weights("bsr", case("tvm", 16), [c for c in CURVES if c != case("identity", 1)]) is None
    uneven = [c for c in CURVES if c != case("identity", 4)]
    assert {each.name for each in sensitivities(uneven)} >= {"friction"}
    assert "friction_mitigation" not in {each.name for each in sensitivities(uneven)}
    assert "depth_retention" not in {each.name for each in sensitivities(STACKS[1:3] + STACKS[4:])}
