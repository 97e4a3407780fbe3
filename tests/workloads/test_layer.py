"""A layer by itself is the layer that its arguments describe."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ngraph.explain.layers import Layer
from pytest_ngraph.workloads.layer import layer

torch = pytest.importorskip("torch")
ON = (2, 6, 9, 9)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (Layer(kind="conv2d", outputs=10, inputs=6, kernel=(3, 3), input_shape=ON), {"stride": (1, 1)}),
        (
            Layer(
                kind="conv2d", outputs=6, inputs=6, groups=3, kernel=(3, 3), input_shape=ON, bias=False,
                options="stride=[2, 2], padding=[1, 1], dilation=[1, 1]",
            ),
            {"stride": (2, 2), "padding": (1, 1), "groups": 3, "bias": None},
        ),
        (
            Layer(kind="conv2d", outputs=6, inputs=6, kernel=(3, 3), input_shape=ON, options="padding=same"),
            {"padding": "same"},
        ),
        (
            Layer(kind="conv1d", outputs=8, inputs=6, kernel=(5,), input_shape=(2, 6, 9), options="padding=[2]"),
            {"padding": (2,)},
        ),
        (
            Layer(
                kind="conv_transpose2d", outputs=10, inputs=6, groups=2, kernel=(2, 2), input_shape=ON,
                options="stride=[2, 2], output_padding=[1, 1]",
            ),
            {"stride": (2, 2), "output_padding": (1, 1), "in_channels": 6},
        ),
        (Layer(kind="linear", outputs=10, inputs=9, input_shape=ON, bias=False), {"in_features": 9, "bias": None}),
    ],
)  # fmt: skip
def test_it_has_what_was_described(described: Layer, expected: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {**described.arguments, "batch_size": 2}
    module, on_input = layer(**arguments)
    assert {name: getattr(module, name) for name in expected} == expected
    assert tuple(on_input.shape) == described.input_shape
    assert module(on_input).shape[-1 if described.kind == "linear" else 1] == described.outputs
