"""Which parts of a network surely differ between head and base, in which order, and by how much together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from explained import KERNELS, NODES, explained, kernel, node

from pytest_ngraph.gate.parts import differing, slowdown_s, surely_differing, together
from pytest_ngraph.gate.why import why
from pytest_ngraph.stats import Estimate

SLOWER = [kernel("a", 0.5, ["conv", "relu"]), kernel("b", 0.8, ["linear"])]
"""A head whose last layer has become much slower, and the convolution before it a little."""


def names(explanation: dict[str, Any]) -> list[str]:
    return [row["name"] for row in differing(explanation, slower=True)]


def test_what_the_launches_show_counts_as_the_slowdown() -> None:
    found = slowdown_s(explained(KERNELS), Estimate(1.16, 1.1, 1.2))
    assert found == pytest.approx((0.16, 0.1, 0.2))


def test_what_one_of_many_parts_shows_by_chance_is_not_named() -> None:
    """A part alone may be sure at 95 %; beside forty others, it has to be surer."""
    head = [kernel("a", 0.4, ["conv", "relu"], kind="jit_1x1"), kernel("b", 0.525, ["linear"])]
    found = explained(head, latency_s=1.02)
    rows = [row for row in found["rows"] if row["name"] == "head"]
    low = rows[0]["difference"][1]
    assert low > 0
    assert surely_differing(rows, slower=True) == rows
    nothing = [row | {"difference": [0.0, -1.0, 1.0]} for row in rows]
    assert surely_differing(rows + 40 * nothing, slower=True) == []


def test_a_layer_that_changed_comes_before_a_slower_one_that_did_not() -> None:
    """A layer may be slow because its input has another layout now: the change is what a reader can undo."""
    now = [replace(NODES[0], shape=(2,)), *NODES[1:]]
    assert names(explained(SLOWER, now, 1.4)) == ["layer1.conv", "head"]
    assert names(explained(SLOWER, NODES, 1.4)) == ["head", "layer1.conv"]


def test_the_order_is_that_of_the_slowdowns_where_nothing_that_is_slower_has_changed() -> None:
    now = [*NODES, node("more", "elsewhere", "relu")]
    assert names(explained(SLOWER, now, 1.4)) == ["head", "layer1.conv"]


def test_a_slower_layer_that_did_not_change_is_said_to_be_so() -> None:
    now = [replace(NODES[0], shape=(2,)), *NODES[1:]]
    found = why(explained(SLOWER, now, 1.4), Estimate.exactly(1.4)).split("; ")
    assert found[0].startswith("`layer1.conv` +100 ms [")
    assert found[1].startswith("`head`, not changed itself, +300 ms [")


def test_the_parts_add_up_with_their_intervals() -> None:
    rows = differing(explained(SLOWER, latency_s=1.4), slower=True)
    assert together(rows).value == pytest.approx(0.4)
    for bound in (1, 2):
        assert together(rows)[bound] == pytest.approx(sum(row["difference"][bound] for row in rows))
    found = why(explained(SLOWER, latency_s=1.4), Estimate.exactly(1.4)).split("; ")
    assert found[2].startswith("together +400 ms [")
    assert found[2].endswith("] of the slowdown")
