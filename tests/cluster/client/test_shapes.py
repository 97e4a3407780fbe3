"""What a device sends as a record, and what of that is one: a device may send anything."""

from __future__ import annotations

import json
from typing import Any

import pytest
from synthetic import case, measured

from pytest_ngraph.cluster.client import shapes
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.explain.kept import KeptProfile
from pytest_ngraph.explain.profile import Kernel

ONE = case("identity")
PROFILE = KeptProfile(
    latency_s=0.1, modules=("conv1",), kernels=(Kernel(name="0", operator="Conv", seconds=0.09, modules=("conv1",)),)
)
FOLLOWS_FROM = {"graph": "g", "machine": "m", "files": {"nets.py": "d"}, "target": {"kind": "cpu", "cores": [0, 1]}}


def sent(**changed: Any) -> Any:
    """Return a record as a device sends it, with other values for some of its fields."""
    record = measured(ONE, 0.1, follows_from=FOLLOWS_FROM, profile=PROFILE.to_dict())
    return json.loads(json.dumps(record.to_dict() | changed))


def launch(base_s: float, head_s: float) -> dict[str, Any]:
    rounds = [{"quads": [[[base_s, base_s], [head_s, head_s]]] * 2, "elapsed_s": 1.0}]
    return {"builds": [{"rounds": rounds}] * 2, "iterations": 1, "fresh": True}


def test_an_honest_record_is_taken() -> None:
    assert shapes.record(sent()).samples.tolist() == [0.1] * 11
    problem = {"problem": "no profiler"}
    assert shapes.record(sent(profile=problem, follows_from={})).profile == problem


@pytest.mark.parametrize(
    "changed",
    [
        {"cpu_percent": "x"},
        {"worker_memory_bytes": 1.5},
        {"rounds": [[1, "x"]]},
        {"rounds": [[0, 0.1]]},
        {"rounds": [[1, -0.1]]},
        {"rounds": []},
        {"outcome": "fine"},
        {"outcome": "failed"},
        {"facts": {"threads": 4}},
        {"follows_from": FOLLOWS_FROM | {"machine": ["m"]}},
        {"follows_from": FOLLOWS_FROM | {"files": ["nets.py"]}},
        {"follows_from": FOLLOWS_FROM | {"libraries": 7}},
        {"follows_from": FOLLOWS_FROM | {"variables": [1]}},
        {"follows_from": FOLLOWS_FROM | {"settings": "x"}},
        {"follows_from": FOLLOWS_FROM | {"target": 7}},
        {"follows_from": FOLLOWS_FROM | {"target": {"cores": "01"}}},
        {"profile": {"kernels": 7}},
        {"profile": PROFILE.to_dict() | {"kernels": [[99, 0, [0], 0.1, 0]]}},
        {"profile": PROFILE.to_dict() | {"latency_s": "x"}},
        {"profile": PROFILE.to_dict() | {"latency_s": 0.0}},
        {"profile": {"problem": 7}},
        {"profile": {"problem": "no profiler", "kernels": 7}},
    ],
    ids=lambda changed: f"{next(iter(changed))}",
)
def test_what_cannot_be_computed_with_is_no_record(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it sent"):
        shapes.record(sent(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"explanation": {"rows": 7}},
        {"explanation": {"latency_s": [[1.0]]}},
        {"launches": 7},
        {"launches": [launch(0.0, 0.1)]},
        {"launches": [launch(0.1, float("nan"))]},
        {"calls": [{"base": [0.0], "head": [0.1]}]},
        {"share": "x"},
    ],
)
def test_a_comparison_that_cannot_be_computed_with_is_none(changed: dict[str, Any]) -> None:
    honest = Comparison(against="main").to_dict() | {"launches": [launch(0.1, 0.2)]}
    assert shapes.record(sent(comparison=honest)).comparison is not None
    with pytest.raises(ValueError, match="it sent"):
        shapes.record(sent(comparison=honest | changed))


@pytest.mark.parametrize("data", [{}, [], 7, None, "x"])
def test_what_is_no_record_at_all(data: Any) -> None:
    with pytest.raises(ValueError, match="it sent no record"):
        shapes.record(data)
