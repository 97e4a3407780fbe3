"""The graph of an ONNX file is written with what compilers and profiles need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper, load, numpy_helper
from onnx_models import BOOL, INT64, model, recurrent, value

from pytest_ngraph.workloads.onnx import graph
from pytest_ngraph.workloads.onnx.graph import (
    draws,
    infer_shapes,
    is_quantized,
    name_nodes,
    parameters,
    precision,
    precisions,
    write,
)


def _in_nodes(weights: Any) -> Any:
    """Return a network whose weights are in a node, as the format allows, with a setting in another type."""
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weights)),
        helper.make_node("Constant", [], ["scale"], value=numpy_helper.from_array(np.float64(2.0))),
        helper.make_node("Gather", ["w", "ids"], ["y"]),
    ]
    kind = helper.np_dtype_to_tensor_dtype(weights.dtype)
    return model(nodes, [value("ids", [2], INT64)], [value("y", None, kind)])


def test_weights_in_nodes_count_and_have_their_precision() -> None:
    made = _in_nodes(np.ones((4, 3), np.float16))
    assert (parameters(made), precision(made), precisions(made)) == (12, "fp16", ("fp16",))


def test_weights_of_branches_count() -> None:
    branch = helper.make_graph([], "b", [], [value("w", [5])], [numpy_helper.from_array(np.ones(5, np.float32), "w")])
    choice = helper.make_node("If", ["which"], ["y"], then_branch=branch, else_branch=branch)
    assert parameters(model([choice], [value("which", [], BOOL)], [value("y", [5])])) == 10
    assert parameters(recurrent()) == 24 * (4 + 8), "the factors of its branches are single values"


@pytest.mark.parametrize("large", [True, False])
def test_weights_in_nodes_are_written_beside_the_graph_where_they_are_large(
    large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.random.default_rng(0).random((64, 64), np.float32)
    made = _in_nodes(weights)
    monkeypatch.setattr(graph, "EXTERNAL_BYTES", weights.nbytes if large else weights.nbytes + 100)
    assert infer_shapes(made) == ""
    files = write(made, tmp_path / "model.onnx")
    assert [file.name for file in files] == ["model.onnx", "model.ngraph.data"][: 1 + large]
    assert np.array_equal(numpy_helper.to_array(load(files[0]).graph.node[0].attribute[0].t), weights)


def test_each_node_has_a_name_of_its_own_and_those_that_have_one_keep_it() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"], name="c"),
        helper.make_node("Dropout", ["b"], ["c", ""]),
        helper.make_node("Split", ["c"], ["", "d"]),
    ]
    made = model(nodes, [value("x", [4])], [value("d", [2])])
    name_nodes(made.graph)
    assert [node.name for node in made.graph.node] == ["a", "c", "c_", "d"]


@pytest.mark.parametrize(("mode", "may_draw"), [("on", True), ("off", False), ("asked", True), ("", False)])
def test_dropout_may_draw_unless_its_mode_is_known_to_be_off(mode: str, may_draw: bool) -> None:
    dropout = helper.make_node("Dropout", ["x", "ratio", mode], ["y"])
    inputs = [value("x", [4]), value("asked", [], BOOL)]
    made = model([dropout], inputs, [value("y", [4])], ratio=np.float32(0.5), on=np.True_, off=np.False_)
    assert draws(made) is may_draw


@pytest.mark.parametrize(
    ("operator", "quantized"),
    [
        ("QuantizeLinear", True),
        ("DynamicQuantizeLinear", True),
        ("QLinearConv", True),
        ("ConvInteger", True),
        ("MatMulIntegerToFloat", True),
        ("DynamicQuantizeLSTM", True),
        ("QAttention", True),
        ("QGemm", True),
        ("QOrderedMatMul", True),
        ("QuickGelu", False),
        ("DequantizeLinear", False),
        ("GatherBlockQuantized", False),
        ("MatMulNBits", False),
    ],
)
def test_operators_that_round_to_eight_bits_are_known(operator: str, quantized: bool) -> None:
    made = model([helper.make_node(operator, ["x"], ["y"])], [value("x", [4])], [value("y", [4])])
    assert is_quantized(made) is quantized


@pytest.mark.parametrize("level", range(5))
def test_a_multiplication_with_small_weights_rounds_at_the_lowest_accuracy(level: int) -> None:
    node = helper.make_node("MatMulNBits", ["x", "w"], ["y"], domain="com.microsoft", accuracy_level=level)
    assert is_quantized(model([node], [value("x", [4])], [value("y", [4])])) is (level == 4)
