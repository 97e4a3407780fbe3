"""An explanation adds up, says how much of the time it knows, and names no module where that is too little."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from explained import kernel, node, profile

from pytest_ngraph.explain.explanation import Explanation, explain
from pytest_ngraph.explain.profile import Block, Kernel, Profile

NODES = [node("conv2d", "body.conv"), node("relu", "body.act", inputs=["conv2d"]), node("linear", "head")]


def rows(explained: Explanation) -> dict[tuple[str, str], float]:
    return {(row.kind, row.name): row.seconds[-1].value for row in explained.rows}


def test_one_case_is_divided_into_modules_layout_changes_and_the_rest() -> None:
    kernels = [
        kernel("a", 0.4, ["conv2d", "relu"]),
        kernel("b", 0.3, ["linear"]),
        kernel("Reorder", 0.15, layout=True),
        kernel("?", 0.05),
    ]
    explained = explain([profile(kernels, NODES)])
    assert rows(explained) == pytest.approx(
        {
            ("module", "body"): 0.4,
            ("module", "head"): 0.3,
            ("layout", ""): 0.15,
            ("unattributed", ""): 0.05,
            ("outside", ""): 0.1,
        }
    )
    assert explained.coverage == pytest.approx((0.9,))
    assert explained.mapped == pytest.approx((0.85 / 0.9,))
    assert explained.explained == pytest.approx(0.85)


def test_below_four_fifths_only_operators_are_named() -> None:
    explained = explain([profile([kernel("a", 0.5, ["conv2d", "relu"]), kernel("b", 0.2, ["linear"])], NODES)])
    assert not explained.names_modules
    assert rows(explained) == pytest.approx(
        {("operator", "conv2d+relu"): 0.5, ("operator", "linear"): 0.2, ("outside", ""): 0.3}
    )


def test_two_cases_are_compared_where_both_can_be_seen() -> None:
    fused = profile([kernel("a", 0.4, ["conv2d", "relu"]), kernel("b", 0.5, ["linear"])], NODES, name="fused")
    apart = [kernel("a", 1.0, ["conv2d"]), kernel("b", 0.4, ["relu"]), kernel("c", 0.5, ["linear"])]
    explained = explain([fused, profile(apart, NODES, latency_s=2.0, name="apart")])
    (body, *_) = explained.rows
    assert (body.kind, body.name) == ("module", "body")
    assert body.difference is not None
    assert body.difference.value == pytest.approx(1.0)
    assert body.share == pytest.approx(1.0)
    assert explained.compiled is not None
    assert explained.compiled.lost == {"conv2d+relu": 1}
    assert [work.label for work in body.works[0]] == ["conv2d+relu"]


def test_a_drift_of_both_cases_cancels_in_their_difference() -> None:
    def drifting(kernel_of: Kernel) -> Profile:
        made = profile([kernel_of], NODES)
        slower = (1.0 + index for index in range(6))
        blocks = [Block(latency_s=f + kernel_of.seconds, kernels=(replace(kernel_of, seconds=f),)) for f in slower]
        return replace(made, blocks=tuple(blocks))

    explained = explain([drifting(kernel("a", 0.25, ["linear"])), drifting(kernel("a", 0.75, ["linear"]))])
    assert explained.difference_s is not None
    assert explained.difference_s.value == pytest.approx(0.5)
    assert explained.difference_s.low > 0.3, "the latencies themselves go from 1 to 6"


def test_it_is_json_with_null_for_bounds_that_are_not_known() -> None:
    few = explain([profile([kernel("a", 1.0, ["linear"])], NODES, blocks=2)])
    data = json.loads(json.dumps(few.to_dict(), allow_nan=False))
    assert data["latency_s"] == [[1.0, None, None]]
    assert data["rows"][0]["works"] == [[{"label": "linear", "kind": "", "count": 1, "seconds": 1.0}]]
