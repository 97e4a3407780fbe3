from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from launched import costs
from launching import exact
from synthetic import case, measured

from pytest_ngraph.comparison import AloneLaunch, Comparison
from pytest_ngraph.costs import Costs
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.assessment import assess_launches
from pytest_ngraph.gate.changes import Uncompared, reading_of_launches, reading_of_runs, time_change_of_launches
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL
from pytest_ngraph.record import Record

CASE = case("openvino", 8)


def compared(**fields: Any) -> Record:
    return measured(CASE, 0.1, compile_s=9.0, comparison=Comparison(**{"against": "main", **fields}))


def alone(head: list[float], base: list[float]) -> tuple[AloneLaunch, ...]:
    arms = [("head", value) for value in head] + [("base", value) for value in base]
    return tuple(AloneLaunch(arm=a, compile_s=v, cpu_percent=None, worker_memory_bytes=2**20) for a, v in arms)


def test_a_cell_is_known_from_fresh_launches_once_there_are_enough() -> None:
    screened = (exact(0.02, fresh=False),)
    assert time_change_of_launches(compared(launches=screened), Rule()).mean == pytest.approx(0.02)
    confirmed = (*screened, *map(exact, (0.05, 0.06, 0.07)))
    assert time_change_of_launches(compared(launches=confirmed), Rule()).mean == pytest.approx(0.06)


@pytest.mark.parametrize(
    ("fields", "name", "said"),
    [
        ({"new": True}, "new", "main does not have it"),
        ({"problem": "measuring it again failed"}, "inconclusive", "measuring it again failed"),
        ({}, "inconclusive", "too little was measured"),
    ],
)
def test_what_was_not_compared_says_why(fields: dict[str, Any], name: str, said: str) -> None:
    with pytest.raises(Uncompared, match=said) as found:
        time_change_of_launches(compared(**fields), Rule())
    assert found.value.name == name


def test_a_reading_is_the_mean_of_launches_alone() -> None:
    found = reading_of_launches(compared(alone=alone([2.0, 8.0, 4.0], [1.0, 4.0, 2.0])), "compile_s")
    assert found.head == pytest.approx(4.0)
    assert found.change.mean == pytest.approx(math.log(2))


def test_memory_that_never_varied_is_not_known_exactly() -> None:
    found = reading_of_launches(compared(alone=alone([1.0] * 3, [1.0] * 3)), "worker_memory_bytes")
    # Smyth: of the prior's 0.005 with four degrees of freedom and no squares in two more, for each arm.
    assert found.change.mean == 0
    assert found.change.standard_error == pytest.approx(0.005 * math.sqrt(4 / 6 / 3 * 2))
    assert found.change.dof == pytest.approx(12)


def test_equal_graphs_need_no_launches() -> None:
    assert reading_of_launches(compared(same=True), "compile_s") == (9.0, EXACTLY_EQUAL)


def test_a_reading_that_is_not_there_says_why() -> None:
    some = alone([2.0], [1.0])
    with pytest.raises(Uncompared, match="not every process reported its cpu_percent"):
        reading_of_launches(compared(alone=some), "cpu_percent")
    with pytest.raises(Uncompared, match="no memory"):
        reading_of_launches(compared(alone=some[:1], alone_problem="no memory"), "compile_s")
    with pytest.raises(Uncompared, match="not measured beside a base"):
        reading_of_launches(measured(CASE, 0.1), "compile_s")


def test_a_reading_beside_stored_runs_is_as_sure_as_these_are_many() -> None:
    head, run = measured(CASE, 0.1, compile_s=3.0), measured(CASE, 0.1, compile_s=2.0)
    one, many = (reading_of_runs(head, [run] * count, "compile_s") for count in (1, 8))
    assert one.head == 3
    assert one.change.mean == pytest.approx(math.log(1.5))
    assert many.change.standard_error < one.change.standard_error
    bare = dataclasses.replace(head, compile_s=None)
    with pytest.raises(Uncompared, match="not recorded in this run"):
        reading_of_runs(bare, [run], "compile_s")
    with pytest.raises(Uncompared, match="not recorded in the baseline"):
        reading_of_runs(head, [bare], "compile_s")


def test_records_keep_launches_alone_and_old_ones_have_none() -> None:
    record = compared(alone=alone([2.0], [1.0]), alone_problem="no memory")
    data = record.to_dict()
    assert Record.from_dict(data) == record
    del data["comparison"]["alone"], data["comparison"]["alone_problem"]
    assert Record.from_dict(data).comparison == Comparison(against="main")


def test_a_cost_to_serve_is_compared_by_its_launches() -> None:
    record = compared(launches=(exact(0.0),), serving=costs(0.5, 0.52, 0.48, 0.5, 0.51, 0.49))
    record = dataclasses.replace(record, serving=costs(1.0, 1.02, 0.98, 1.0, 1.01, 0.99))
    found = reading_of_launches(record, "cold_start_s")
    assert found.head == pytest.approx(0.5, rel=0.01)
    assert found.change.mean == pytest.approx(math.log(2), rel=0.01)
    assert 0 < found.change.standard_error < 0.05


@pytest.mark.parametrize(("size", "name"), [(42, "regressed"), (40, "unchanged"), (39, "improved")])
def test_a_size_that_grew_has_surely_grown(size: int, name: str) -> None:
    record = compared(launches=(exact(0.0),), serving=costs(artifact_bytes=40 * 2**20))
    record = dataclasses.replace(record, serving=costs(artifact_bytes=size * 2**20))
    change = reading_of_launches(record, "artifact_bytes").change
    assert assess_launches(change, Rule(margin=0.01)).name == name


@pytest.mark.parametrize(
    ("head", "base", "said"),
    [
        (Costs(problem="no driver"), costs(), "the head has none: no driver"),
        (costs(), Costs(problem="it cannot be deployed: no"), "the base has none: it cannot be deployed: no"),
        (costs(), None, "not every process reported its cold_start_s"),
    ],
)
def test_costs_that_one_side_lacks_are_not_compared(head: Costs, base: Costs | None, said: str) -> None:
    record = dataclasses.replace(compared(launches=(exact(0.0),), serving=base), serving=head)
    with pytest.raises(Uncompared, match=said):
        reading_of_launches(record, "cold_start_s")


def test_a_cost_beside_stored_runs() -> None:
    runs = [measured(CASE, 0.1, serving=costs())] * 3
    found = reading_of_runs(measured(CASE, 0.1, serving=costs(2.0)), runs, "serving_memory_bytes")
    assert found.head == 200 * 2**20
    assert found.change.mean == pytest.approx(math.log(2), rel=1e-6)
    with pytest.raises(Uncompared, match="was not recorded in the baseline"):
        reading_of_runs(measured(CASE, 0.1, serving=costs()), [measured(CASE, 0.1)], "cold_start_s")
