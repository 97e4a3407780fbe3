"""Layers at several widths, as lines."""

from __future__ import annotations

from pytest_ngraph.explain.layers import Layer
from pytest_ngraph.explain.widths import Probed, Slow, Tried
from pytest_ngraph.report.probed import lines
from pytest_ngraph.stats import Estimate

LAYER = Layer(kind="conv2d", outputs=66, inputs=66, kernel=(3, 3), input_shape=(1, 66, 8, 8))


def probed(*tried: Tried) -> Probed:
    slow = Slow(layer=LAYER, modules=("a.conv", "b.conv"), share=0.41)
    return Probed(slow=slow, seconds=Estimate(0.001, 0.0009, 0.0011), tried=tried)


SAVES = Tried(width=64, ratio=Estimate(0.69, 0.66, 0.72), work=0.94)
FREE = Tried(width=80, ratio=Estimate(1.0, 0.97, 1.03), work=1.47)
DEAR = Tried(width=72, ratio=Estimate(1.3, 1.2, 1.4), work=1.19)


def test_each_width_has_a_line_and_what_follows_is_said() -> None:
    assert lines("openvino", [probed(SAVES, FREE)], "", 100) == [
        "Layers alone, compiled by openvino, at their own width and at others",
        "  a.conv, b.conv: conv2d, 41 % of a call; 66 channels, 1.00 ms [0.90, 1.10] alone",
        "        64  -31 % [-34, -28] time, -6 % multiplications",
        "        80  +0 % [-3, 3]     time, +47 % multiplications",
        "    64 channels save more time than multiplications: 31 % [28, 34] less time; 80 channels cost no",
        "    more than 66.",
    ]


def test_where_nothing_is_better_that_is_said() -> None:
    assert lines("openvino", [probed(DEAR)], "", 100)[-1] == "    No width that was tried is surely better than 66."


def test_without_a_layer_the_reason_is_given() -> None:
    assert lines("openvino", [], "it has none", 100) == ["No layer has a width worth trying: it has none."]
