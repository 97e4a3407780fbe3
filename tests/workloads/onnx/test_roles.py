"""What integers of an ONNX graph mean, and what is drawn for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.workloads.drawing import Fixed, Ids, Mask, Positions, Role, Values
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.onnx.roles import roles

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402
from onnx import helper  # noqa: E402


def role(*nodes: Any, axes: list[Any] | None = None, kind: int = models.INT64, name: str = "x", **weights: Any) -> Role:
    axes = [2, 3] if axes is None else axes
    return roles(models.model(nodes, [models.value(name, axes, kind)], [models.value("y", None)], **weights))[name]


def test_an_index_of_a_table_is_an_id_below_its_size() -> None:
    found = role(helper.make_node("Gather", ["table", "x"], ["y"]), table=models.weights(30, 4))
    assert found == Ids(30, "index table")


def test_the_smallest_of_several_tables_counts() -> None:
    nodes = [helper.make_node("Gather", [table, "x"], [f"{table}_rows"]) for table in ("large", "small")]
    nodes.append(helper.make_node("Add", ["large_rows", "small_rows"], ["y"]))
    assert role(*nodes, large=models.weights(30, 4), small=models.weights(7, 4)) == Ids(7, "index small")


def test_tables_are_found_after_operators_that_pass_the_ids_on_and_in_branches() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["narrow"], to=models.INT32),
        helper.make_node("Reshape", ["narrow", "flat"], ["line"]),
        helper.make_node("Unsqueeze", ["line", "last"], ["column"]),
    ]
    inside = helper.make_graph(
        [helper.make_node("Gather", ["table", "column"], ["rows"])], "inside", [], [models.value("rows", None)]
    )
    branch = helper.make_node("If", ["yes"], ["y"], then_branch=inside, else_branch=inside)
    weights = {"table": models.weights(9, 4), "flat": np.array([-1]), "last": np.array([1]), "yes": np.array(True)}
    assert role(*nodes, branch, **weights) == Ids(9, "index table")


def _with_functions() -> Any:
    """Return a model whose operators are in local functions, as some exporters write them."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    look_up = helper.make_node("Gather", ["t", "i"], ["rows"])
    embed = helper.make_function("my", "Embed", ["i", "t"], ["rows"], [look_up], opsets)
    projected = [
        helper.make_node("Embed", ["i", "t"], ["rows"], domain="my"),
        helper.make_node("MatMul", ["x", "w"], ["m"]),
    ]
    both = helper.make_function("my", "Both", ["i", "t", "x", "w"], ["rows", "m"], projected, opsets)
    inputs = [models.value("ids", ["batch", 3], models.INT64), models.value("x", ["batch", None])]
    outputs = [models.value("rows", None), models.value("y", None)]
    node = helper.make_node("Both", ["ids", "table", "x", "w"], ["rows", "y"], domain="my")
    model = models.model([node], inputs, outputs, table=models.weights(500, 4), w=models.WEIGHTS)
    model.functions.extend([embed, both])
    return model


def test_tables_are_found_in_local_functions() -> None:
    model = _with_functions()
    before = model.SerializeToString()
    assert roles(model) == {"ids": Ids(500, "index table")}
    assert model.SerializeToString() == before


def test_axes_are_found_in_local_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(_with_functions(), "net.onnx")
    (tmp_path / "exported").mkdir()
    case = Case(workload="net.onnx", compiler="identity", batch_size=2)
    artifact = OnnxFile().export(case, tmp_path / "exported")
    assert [array.shape for array in artifact.inputs()] == [(2, 3), (2, 4)]
    assert artifact.drawn == {"ids": "ids below 500 (index table)"}


def test_a_quantized_table_is_a_table() -> None:
    nodes = [
        helper.make_node("DequantizeLinear", ["bytes", "step"], ["table"]),
        helper.make_node("Gather", ["table", "x"], ["y"]),
    ]
    found = role(*nodes, bytes=np.zeros((11, 4), np.uint8), step=np.float32(0.1))
    assert found == Ids(11, "index bytes")


def test_an_index_along_another_axis_is_no_id() -> None:
    assert role(helper.make_node("Gather", ["table", "x"], ["y"], axis=1), table=models.weights(9, 4)) == Values()


def test_numbers_compared_with_all_of_a_range_are_ids_of_that_range() -> None:
    nodes = [
        helper.make_node("Unsqueeze", ["x", "last"], ["wide"]),
        helper.make_node("Equal", ["wide", "every"], ["y"]),
    ]
    found = role(*nodes, last=np.array([-1]), every=np.arange(257))
    assert found == Ids(257, "compared with 0 to 256")


@pytest.mark.parametrize(
    ("node", "kind", "why"),
    [
        (helper.make_node("Where", ["x", "a", "a"], ["y"]), models.BOOL, "chooses in Where"),
        (helper.make_node("Not", ["x"], ["y"]), models.BOOL, "read by Not"),
        (helper.make_node("Sub", ["one", "x"], ["y"]), models.INT64, "subtracted from 1"),
    ],
)
def test_what_masks_is_a_mask(node: Any, kind: int, why: str) -> None:
    assert role(node, kind=kind, a=models.weights(2, 3), one=np.array(1)) == Mask(why)


def test_names_say_mask_and_position() -> None:
    relu = helper.make_node("Identity", ["attention_mask"], ["y"])
    assert role(relu, name="attention_mask") == Mask("by its name")
    gather = helper.make_node("Gather", ["table", "position_ids"], ["y"])
    assert role(gather, name="position_ids", table=models.weights(16, 4)) == Positions(16, "by its name")


def test_a_scalar_that_is_compared_with_a_number_is_that_number() -> None:
    node = helper.make_node("Equal", ["x", "rate"], ["y"])
    assert role(node, axes=[], rate=np.int64(16000)) == Fixed(16000, "the graph compares it with that")


def test_what_says_how_many_is_not_zero() -> None:
    found = role(helper.make_node("TopK", ["scores", "x"], ["y", "at"]), axes=[1], scores=models.weights(2, 10))
    assert found == Fixed(1, "how many, read by TopK")


def test_an_encoders_inputs_are_drawn_by_what_they_mean_and_the_artifact_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(models.encoder(), "net.onnx")
    case = Case(workload="net.onnx", compiler="identity", batch_size=3, sizes=(("sequence", 12),))
    (tmp_path / "exported").mkdir()
    artifact = OnnxFile().export(case, tmp_path / "exported")
    ids, mask, types, positions = artifact.inputs()
    assert 40 < ids.max() < 50
    assert 0.7 < mask.mean() < 1
    assert set(np.unique(types)) == {0, 1}
    assert positions.tolist() == [list(range(12))] * 3
    assert artifact.drawn == {
        "input_ids": "ids below 50 (index words)",
        "attention_mask": "a mask, mostly ones (by its name)",
        "token_type_ids": "ids below 2 (index types)",
        "position_ids": "positions below 16 (by its name)",
    }
    assert Artifact.from_dict(artifact.to_dict()) == artifact
