from __future__ import annotations

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.machine.devices import BUILT_IN, Device
from pytest_ngraph.plugin.items import why_not_on


def test_obstacles_are_of_the_device_and_the_compiler(a_case: Case) -> None:
    assert why_not_on(a_case, BUILT_IN["cpu"]) == ""
    assert why_not_on(a_case, Device(name="d", architecture="none")).startswith("device d is none")
    trt = Case(workload="conv", compiler="tensorrt", batch_size=1)
    assert why_not_on(trt, BUILT_IN["cpu"]).startswith("tensorrt does not compile for cpu, only for cuda")


def test_a_missing_library_is_named_whatever_else_is_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.compilers.missing_library", lambda name: f"{name} is not installed")
    trt = Case(workload="conv", compiler="tensorrt", batch_size=1, objective="throughput")
    reasons = why_not_on(trt, Device(name="d", architecture="none")).split("; ")
    assert len(reasons) == 4
    assert reasons[-1] == "tensorrt is not installed"
