"""Assignments and tasks arrive at a device as they were sent."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.cluster.assignment import Assignment, BaseAssignment, Task
from pytest_ngraph.gate import Rule
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.settings import Settings

BASE = BaseAssignment(
    name="main", identity="main, with *.pt", project="b4", rule=Rule().to_dict(), explain="all", measures_equals=False
)
ASSIGNMENT = Assignment(
    session="20261121-120000-000001",
    client="a client",
    project="a1",
    folder="tests",
    path=("src", "."),
    settings=Settings().to_dict(),
    device=Device(name="xeon", cores=(0, 2), compilers=("identity",)).to_dict(),
    retries=1,
    retry_failed=False,
    threads=2,
    base=BASE,
)


def travelled(data: dict[str, Any]) -> dict[str, Any]:
    arrived: dict[str, Any] = json.loads(json.dumps(data))
    return arrived


def test_a_task_arrives_as_it_was_sent() -> None:
    cases = (case("identity"), case("openvino", model_args=(("depth", 3),)))
    task = Task(
        assignment=ASSIGNMENT,
        group=7,
        cases=cases,
        bases={1: case("openvino")},
        alone=(1,),
        calls=(0, 1),
        tails=(1,),
        served=(0,),
        profiled=(0,),
        figures=(0,),
        whole=3,
    )
    arrived = Task.from_dict(travelled(task.to_dict()))
    assert dataclasses.replace(arrived, assignment=ASSIGNMENT) == task
    assert arrived.assignment.run_id == ASSIGNMENT.run_id
    assert Device.from_dict(arrived.assignment.device).cores == (0, 2)
    assert arrived.assignment.base is not None
    assert Rule.from_dict(arrived.assignment.base.rule) == Rule()


@pytest.mark.parametrize(
    "changes",
    [
        {"client": "the next"},
        {"retries": 3},
        {"retry_failed": True},
        {"base": dataclasses.replace(BASE, rule=Rule(margin=0.5).to_dict())},
    ],
)
def test_the_run_id_does_not_depend_on_who_asks_or_how_results_are_judged(changes: dict[str, Any]) -> None:
    assert dataclasses.replace(ASSIGNMENT, **changes).run_id == ASSIGNMENT.run_id


@pytest.mark.parametrize(
    "changes",
    [
        {"session": "20261121-120000-000002"},
        {"project": "a2"},
        {"settings": Settings(budget_s=1.0).to_dict()},
        {"base": None},
        {"threads": 1},
    ],
)
def test_the_run_id_depends_on_everything_else(changes: dict[str, Any]) -> None:
    assert dataclasses.replace(ASSIGNMENT, **changes).run_id != ASSIGNMENT.run_id
