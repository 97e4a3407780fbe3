"""Layers, read from operations of programs and of ONNX files, and the widths that they are tried at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from explained import node

from pytest_ngraph.explain.layers import Layer, layer_of, layers
from pytest_ngraph.workloads import layer as workload
from pytest_ngraph.workloads.nodes import of_onnx

Shape = tuple[int | str, ...]
ON = node("before", shape=(1, 66, 8, 8))
LAYER = Layer(kind="conv2d", outputs=66, inputs=66, kernel=(3, 3), input_shape=(1, 66, 8, 8))


def read(
    operator: str, attributes: str, shape: tuple[int | str, ...] = (), on: tuple[int | str, ...] = ON.shape
) -> Any:
    before = node("before", shape=on)
    of = node("layer", "a", operator, inputs=["before"], attributes=attributes, shape=shape)
    return layer_of(of, {each.name: each for each in (before, of)})


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("66x1x3x3, None, [2, 2], [1, 1], [1, 1], 66", {"inputs": 66, "groups": 66, "bias": False}),
        (
            "66x66x3x3, None, [2, 2], [1, 1], [1, 1], 1",
            {"groups": 1, "options": "stride=[2, 2], padding=[1, 1], dilation=[1, 1]"},
        ),
        (
            "66x33x3x3, 66, [1, 1], same, [1, 1], 2",
            {"inputs": 66, "groups": 2, "options": "stride=[1, 1], padding=same, dilation=[1, 1]"},
        ),
        ("66x66x3x3 channels_last, 66, [1, 1]", {"options": "stride=[1, 1]"}),
    ],
)
def test_a_layer_is_read_from_the_arguments_of_its_operation(attributes: str, expected: dict[str, object]) -> None:
    layer = read("conv2d", attributes)
    assert {name: getattr(layer, name) for name in expected} == expected
    assert (layer.outputs, layer.kernel, layer.input_shape) == (66, (3, 3), (1, 66, 8, 8))


@pytest.mark.parametrize(
    ("operator", "attributes", "expected"),
    [
        (
            "Conv",
            "dilations=[1, 1], group=66, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], 66x1x3x3, 66",
            {"kind": "conv2d", "groups": 66, "inputs": 66, "bias": True,
             "options": "stride=[2, 2], dilation=[1, 1], padding=[1, 1]"},
        ),
        (
            "ConvTranspose",
            "group=2, output_padding=[1, 1], strides=[2, 2], 66x20x3x3",
            {"kind": "conv_transpose2d", "outputs": 40, "inputs": 66, "bias": False,
             "options": "stride=[2, 2], output_padding=[1, 1]"},
        ),
        (
            "conv_transpose2d",
            "66x20x3x3, 40, [2, 2], [0, 0], [1, 1], 2, [1, 1]",
            {"outputs": 40, "inputs": 66, "groups": 2,
             "options": "stride=[2, 2], padding=[0, 0], output_padding=[1, 1], dilation=[1, 1]"},
        ),
    ],
)  # fmt: skip
def test_convolutions_of_files_and_transposed_ones(operator: str, attributes: str, expected: dict[str, object]) -> None:
    layer = read(operator, attributes)
    assert {name: getattr(layer, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("operator", "attributes", "bias"),
    [("Gemm", "alpha=1.0, beta=1.0, transB=1, 10x66, 10", True), ("MatMul", "66x10", False)],
)
def test_products_with_a_matrix_are_linear_layers(operator: str, attributes: str, bias: bool) -> None:
    layer = read(operator, attributes, shape=(7, 10), on=(7, 66))
    assert (layer.kind, layer.outputs, layer.inputs, layer.bias) == ("linear", 10, 66, bias)


@pytest.mark.parametrize(
    ("operator", "attributes", "shape", "on"),
    [
        ("MatMul", "7x66", (7, 10), (66, 10)),  # the matrix is the first factor
        ("MatMul", "", (7, 10), (7, 66)),  # of two activations
        ("Gemm", "alpha=0.5, transB=1, 10x66", (7, 10), (7, 66)),
        ("Conv", "auto_pad=b'SAME_UPPER', 66x66x3x3", (), ON.shape),
        ("Conv", "pads=[0, 0, 1, 1], 66x66x3x3", (), ON.shape),
        ("Conv", "66x66x3x3", (), ("batch", 66, 8, 8)),
        ("conv2d", "", (), ON.shape),
    ],
)
def test_what_does_not_say_all_of_a_layer_is_none(operator: str, attributes: str, shape: Shape, on: Shape) -> None:
    assert read(operator, attributes, shape, on) is None


def test_each_layer_of_a_file_is_built_with_the_same_result(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnxscript")  # the exporter needs it
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 10, 3, padding=1),
        torch.nn.Conv2d(10, 10, 3, stride=2, padding=1, groups=10, bias=False),
        torch.nn.ConvTranspose2d(10, 12, 2, stride=2),
        torch.nn.Flatten(),
        torch.nn.Linear(12 * 8 * 8, 20),
    ).eval()
    torch.onnx.export(net, (torch.randn(2, 3, 8, 8),), tmp_path / "net.onnx", dynamo=True, verbose=False)
    nodes = {each.name: each for each in of_onnx(tmp_path / "net.onnx")}
    found = list(layers(nodes).values())
    assert [each.kind for each in found] == ["conv2d", "conv_transpose2d", "linear"]  # the first reads the input
    for each, shape in zip(found, [(2, 10, 4, 4), (2, 12, 8, 8), (2, 20)], strict=True):
        arguments: dict[str, Any] = each.arguments
        module, on_input = workload.layer(**arguments, batch_size=2)
        assert tuple(module(on_input).shape) == shape


def test_a_layer_is_tried_at_multiples_nearby_wherever_it_has_its_width() -> None:
    nearby = LAYER.nearby()
    assert [*nearby] == [64, 72, 80, 96]
    assert (nearby[72].outputs, nearby[72].inputs, nearby[72].input_shape) == (72, 72, (1, 72, 8, 8))
    assert nearby[96].work / LAYER.work == pytest.approx((96 / 66) ** 2)


def test_depthwise_layers_keep_a_group_for_each_channel() -> None:
    depthwise = Layer(kind="conv2d", outputs=66, inputs=66, groups=66, kernel=(3, 3), input_shape=(1, 66, 8, 8))
    assert {layer.groups == width for width, layer in depthwise.nearby().items()} == {True}
    assert depthwise.at(96).work / depthwise.work == pytest.approx(96 / 66)  # type: ignore[union-attr]


def test_widths_that_the_groups_do_not_divide_are_left_out() -> None:
    grouped = Layer(kind="conv2d", outputs=66, inputs=66, groups=3, kernel=(1, 1), input_shape=(1, 66, 8, 8))
    assert [*grouped.nearby()] == [72, 96]


def test_of_linear_layers_only_the_odd_side_changes() -> None:
    layer = Layer(kind="linear", outputs=512, inputs=100, input_shape=(1, 7, 100))
    tried = layer.at(112)
    assert tried is not None
    assert (tried.outputs, tried.inputs, tried.input_shape) == (512, 112, (1, 7, 112))
