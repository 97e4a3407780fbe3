"""The graph of an ONNX file is written with what compilers and profiles need."""

from __future__ import annotations

from onnx import helper
from onnx_models import model, value

from pytest_ngraph.workloads.onnx.graph import name_nodes


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
