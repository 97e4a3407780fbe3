"""Alternating sessions of several tools."""

from __future__ import annotations

import pytest
from comparing import trials
from comparing.child import Failed
from comparing.trials import Reading

from pytest_ngraph.case import Case

CASES = trials.cases(["one", "two"], 4)


def reading(case: Case) -> Reading:
    return Reading(seconds=1.0 if case.workload == "one" else 2.0, measured_s=3.0, wall_s=4.0)


def test_every_arm_measures_every_case_as_often() -> None:
    found = trials.run({"b": reading, "a": reading}, CASES, sessions=3)
    assert list(found.readings) == ["b", "a"]
    assert found.of("a", "seconds").tolist() == [[1.0] * 3, [2.0] * 3]
    assert found.of("b", "wall_s").shape == (2, 3)


def test_the_order_is_drawn_again_each_time() -> None:
    asked: list[str] = []

    def noted(name: str) -> trials.Measure:
        def measure(case: Case) -> Reading:
            asked.append(name)
            return reading(case)

        return measure

    trials.run({name: noted(name) for name in "abc"}, CASES[:1], sessions=8)
    orders = {tuple(asked[start : start + 3]) for start in range(0, 24, 3)}
    assert {tuple(sorted(order)) for order in orders} == {("a", "b", "c")}
    assert len(orders) > 1


def test_an_arm_that_fails_once_is_left_out_with_its_reason() -> None:
    def fails(case: Case) -> Reading:
        if case.workload == "two":
            raise Failed("no module named timm.")
        return reading(case)

    found = trials.run({"good": reading, "bad": fails}, CASES, sessions=2)
    assert list(found.readings) == ["good"]
    assert found.notes == ["bad is left out: no module named timm."]


@pytest.mark.parametrize(("part", "names"), [(None, ["ab", "bc"]), ("a", ["ab"]), ("b", ["ab", "bc"])])
def test_arms_are_chosen_by_a_part_of_their_name(part: str | None, names: list[str]) -> None:
    assert list(trials.chosen({"ab": reading, "bc": reading}, part)) == names
