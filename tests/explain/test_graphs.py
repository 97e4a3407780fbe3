"""Differences of programs are found module by module, without any time."""

from __future__ import annotations

from explained import node

from pytest_ngraph.explain.graphs import compare

BASE = [
    node("conv2d", "layer1.conv", shape=(1, 64, 8, 8), attributes="64x3x3x3, [1, 1]"),
    node("relu", "layer1", inputs=["conv2d"]),
    node("conv2d_1", "layer2.conv", "conv2d", inputs=["relu"], type="float32"),
]


def test_equal_programs_have_no_difference() -> None:
    difference = compare(BASE, BASE)
    assert difference.is_empty
    assert difference.matched == {node.name: node.name for node in BASE}


def test_names_are_matched_by_their_order_in_a_module() -> None:
    renumbered = [
        BASE[0],
        node("conv2d_1", "layer1.extra", "conv2d", inputs=["conv2d"]),
        node("relu", "layer1", inputs=["conv2d_1"]),
        node("conv2d_2", "layer2.conv", "conv2d", inputs=["relu"], type="float32"),
    ]
    difference = compare(BASE, renumbered)
    assert [each.name for each in difference.added] == ["conv2d_1"]
    assert (difference.removed, difference.changed) == ((), ())
    assert difference.matched["conv2d_1"] == "conv2d_2"


def test_what_changed_is_said() -> None:
    wider = [
        node("conv2d", "layer1.conv", shape=(1, 80, 8, 8), attributes="80x3x3x3, [1, 1]"),
        BASE[1],
        node("conv2d_1", "layer2.conv", "conv2d", inputs=["relu"], type="float16"),
    ]
    first, second = compare(BASE, wider).changed
    assert first.what == (
        "shape (1, 64, 8, 8) became (1, 80, 8, 8)",
        "attributes 64x3x3x3, [1, 1] became 80x3x3x3, [1, 1]",
    )
    assert second.what == ("type float32 became float16",)


def test_an_operation_that_is_gone_is_named() -> None:
    difference = compare(BASE, [BASE[0], BASE[2]])
    assert [each.name for each in difference.removed] == ["relu"]
