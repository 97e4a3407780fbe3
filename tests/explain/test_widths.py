"""The slowest layers of an odd width, the widths that they are tried at, and what follows from their times."""

from __future__ import annotations

import json

import pytest
from explained import kernel, node, profile

from pytest_ngraph.explain.layers import Layer
from pytest_ngraph.explain.widths import Probed, Slow, Tried, slow_layers, why_none
from pytest_ngraph.stats import Estimate

LAYER = Layer(
    kind="conv2d",
    outputs=66,
    inputs=66,
    kernel=(3, 3),
    input_shape=(1, 66, 8, 8),
    options="stride=[1, 1], padding=[1, 1]",
)
NODES = [
    node("add", shape=(1, 66, 8, 8)),
    node("pool", shape=(1, 64, 8, 8)),
    *(node(f"relu_{at}", f"{at}.relu", "relu", inputs=["add"]) for at in "ab"),
    node("conv_a", "a.conv", "conv2d", inputs=["add"], attributes="66x66x3x3, 66, [1, 1], [1, 1]"),
    node("conv_b", "b.conv", "conv2d", inputs=["add"], attributes="66x66x3x3, 66, [1, 1], [1, 1]"),
    node("wide", "c", "conv2d", inputs=["pool"], attributes="64x64x1x1"),
    node("small", "d", "conv2d", inputs=["add"], attributes="50x66x1x1, None"),
    node("first", "e", "conv2d", inputs=["x"], attributes="66x3x1x1"),
    node("two", "f", "linear", inputs=["add", "add"], attributes=""),
]


def test_equal_layers_of_an_odd_width_count_together_and_small_ones_not_at_all() -> None:
    kernels = [
        kernel("0", 0.3, ["conv_a", "relu_a"]),
        kernel("1", 0.2, ["conv_b"]),
        kernel("2", 0.3, ["wide"]),
        kernel("3", 0.01, ["small"]),
        kernel("4", 0.1, ["first", "two"]),
    ]
    (slow,) = slow_layers(profile(kernels, NODES, latency_s=1.0))
    assert (slow.layer, slow.modules) == (LAYER, ("a.conv", "b.conv"))
    assert slow.share == pytest.approx(0.5)


def test_layers_of_one_kernel_share_its_time() -> None:
    (slow,) = slow_layers(profile([kernel("0", 0.4, ["conv_a", "wide"])], NODES, latency_s=1.0))
    assert slow.share == pytest.approx(0.2)


def test_why_there_is_none() -> None:
    assert "multiples of 16" in why_none(profile([kernel("0", 0.4, ["wide"])], NODES))
    assert "no convolution or linear layer" in why_none(profile([], [node("relu", "", "relu")]))


def probed(*tried: Tried) -> Probed:
    return Probed(slow=Slow(layer=LAYER, modules=("a",), share=0.5), seconds=Estimate(1, 1, 1), tried=tried)


def at(width: int, low: float, high: float) -> Tried:
    return Tried(width=width, ratio=Estimate((low + high) / 2, low, high), work=(width / 66) ** 2)


def test_the_widest_that_surely_costs_hardly_more_is_free() -> None:
    found = probed(at(72, 0.97, 1.03), at(80, 0.96, 1.04), at(96, 0.9, 1.2))
    assert found.widest_free is not None
    assert found.widest_free.width == 80
    assert found.best_saving is None


def test_a_narrower_one_saves_if_it_surely_takes_less_than_its_share_of_the_work() -> None:
    assert probed(at(64, 0.85, 0.95)).best_saving is None  # 0.94 of the work
    found = probed(at(48, 0.5, 0.52), at(64, 0.6, 0.7)).best_saving
    assert found is not None
    assert found.width == 64


def test_json_has_the_numbers() -> None:
    data = json.loads(json.dumps(probed(at(80, 0.97, 1.03)).to_dict()))
    assert (data["modules"], data["width"], data["seconds"]) == (["a"], 66, [1, 1, 1])
    assert data["tried"] == [{"width": 80, "ratio": [1.0, 0.97, 1.03], "work": (80 / 66) ** 2}]
