"""The operations of a program and of an ONNX file, with the modules that they belong to."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import helper

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.nodes import SCOPES, nodes, of_onnx

FLOAT = onnx.TensorProto.FLOAT


@pytest.mark.parametrize(
    ("name", "scopes", "module"),
    [
        ("node_conv2d", "['', 'body', 'body.0', 'conv2d']", "body.0"),
        ("node_conv2d", "['conv2d']", ""),
        ("/layer1/layer1.0/conv1/Conv", None, "layer1.0.conv1"),
        ("Conv_12", None, "Conv_12"),
    ],
)
def test_a_module_is_what_the_exporter_noted_or_the_operations_own_name(
    name: str, scopes: str | None, module: str, tmp_path: Path
) -> None:
    weights = helper.make_tensor("w", FLOAT, [4, 3, 1, 1], [0.0] * 12)
    conv = helper.make_node("Conv", ["x", "w"], ["y"], name=name, kernel_shape=[1, 1])
    if scopes:
        conv.metadata_props.add(key=SCOPES, value=scopes)
    x, y = helper.make_tensor_value_info("x", FLOAT, [2, 3, 8, 8]), helper.make_tensor_value_info("y", FLOAT, None)
    onnx.save(helper.make_model(helper.make_graph([conv], "g", [x], [y], [weights])), tmp_path / "net.onnx")
    case = Case(workload="net.onnx", compiler="onnxruntime", batch_size=2)
    (node,) = nodes(Artifact(folder=tmp_path, case=case, onnx=tmp_path / "net.onnx"))
    assert (node.module, node.type, node.shape) == (module, "float", (2, 4, 8, 8))
    assert node.attributes == "kernel_shape=[1, 1], 4x3x1x1"


@pytest.mark.parametrize(
    ("layout", "weight"), [("contiguous_format", "3x2x3x3"), ("channels_last", "3x2x3x3 channels_last")]
)
def test_a_weights_memory_layout_is_an_attribute(layout: str, weight: str, tmp_path: Path) -> None:
    case = Case(workload="odd_nets:laid_out", compiler="identity", batch_size=1, model_args=(("layout", layout),))
    (node,) = nodes(export(case, tmp_path))
    assert weight in node.attributes.split(", ")


def test_what_an_operation_reads_is_no_attribute_also_in_a_list(tmp_path: Path) -> None:
    """An activation more shifts the numbers in the names of all that follow, which changes nothing of these."""

    def attributes(activations: int) -> list[str]:
        (folder := tmp_path / str(activations)).mkdir()
        arguments = (("activations", activations),)
        case = Case(workload="nets_in_parts:mixing", compiler="identity", batch_size=1, model_args=arguments)
        return [node.attributes for node in nodes(export(case, folder)) if node.operator in ("einsum", "cat")]

    assert attributes(0) == attributes(2) == ["nm,bmd->bnd, [6x4, _]", "[_, _], 1"]


def test_a_traced_module_is_not_in_its_wrapper(tmp_path: Path) -> None:
    names = ["/module/backbone/0/Conv", "/module/Conv_1", "Conv_2"]
    convs = [helper.make_node("Identity", [f"v{i}"], [f"v{i + 1}"], name=name) for i, name in enumerate(names)]
    x, y = (helper.make_tensor_value_info(name, FLOAT, [2]) for name in ("v0", "v3"))
    onnx.save(helper.make_model(helper.make_graph(convs, "g", [x], [y])), tmp_path / "net.onnx")
    assert [node.module for node in of_onnx(tmp_path / "net.onnx", traced=True)] == ["backbone.0", "", ""]


def test_the_operations_of_a_program_are_those_that_are_read_back(tmp_path: Path) -> None:
    """They are noted when it is exported, and kernels name those of the program that a compiler read."""
    artifact = export(Case(workload="mha", compiler="identity", batch_size=1, depth=2, width=16), tmp_path)
    graph = program.load(artifact).graph
    assert [node.name for node in nodes(artifact)] == [node.name for node in graph.nodes if node.op == "call_function"]
