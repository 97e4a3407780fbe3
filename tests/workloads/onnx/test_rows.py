"""Outputs of ONNX files whose number of rows values decide, as that of a detector's boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.verify import agreement

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402
from onnx import helper  # noqa: E402


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def exported(model: Any, batch_size: int = 1) -> Artifact:
    onnx.save(model, "net.onnx")
    Path("exported").mkdir()
    return OnnxFile().export(Case(workload="net.onnx", compiler="identity", batch_size=batch_size), Path("exported"))


@pytest.mark.parametrize(
    "shape", [("kept", 4), (None, None), (-1, 4), None], ids=["named", "unnamed", "-1", "unstated"]
)
def test_what_a_detector_keeps_is_compared_as_a_set(shape: models.Axes) -> None:
    artifact = exported(models.detector(shape=shape))
    assert artifact.data_dependent == ("output[0]", "output[1]")
    boxes, scores, every = artifact.reference()
    assert len(boxes) > 3
    order = [1, 0, *range(2, len(boxes))]
    assert agreement([boxes[order], scores[order], every], artifact, "fp32").agrees
    assert not agreement([boxes[order], scores, every], artifact, "fp32").agrees
    assert not agreement([boxes, scores, every[:, ::-1]], artifact, "fp32").agrees


def test_what_branches_and_functions_keep_is_found() -> None:
    def body(name: str) -> Any:
        node = helper.make_node("Kept", ["x"], [name], domain="my")
        return helper.make_graph([node], name, [], [models.value(name, None, models.INT64)])

    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    positive = [helper.make_node("NonZero", ["v"], ["at"]), helper.make_node("Transpose", ["at"], ["rows"])]
    branch = helper.make_node("If", ["yes"], ["y"], then_branch=body("first"), else_branch=body("second"))
    model = models.model(
        [branch], [models.value("x", ["batch", 9])], [models.value("y", None, models.INT64)], yes=np.array(True)
    )
    model.functions.append(helper.make_function("my", "Kept", ["v"], ["rows"], positive, opsets))
    model.opset_import.append(opsets[1])
    assert exported(model).data_dependent == ("output[0]",)


def test_rows_of_an_unknown_number_that_no_operator_chooses_are_compared_in_their_order() -> None:
    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Unsqueeze", ["size", "first"], ["shape"]),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    model = models.model(nodes, [models.value("x", ["batch", 4])], [models.value("y", None)], first=np.array([0]))
    artifact = exported(model, batch_size=3)
    assert artifact.reference()[0].shape == (12,)
    assert artifact.data_dependent == ()


def test_samples_after_an_operator_that_chooses_are_compared_in_their_order() -> None:
    """As a language model selects tokens by a mask on its way."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["at"]),
        helper.make_node("Transpose", ["at"], ["places"]),
        helper.make_node("GatherND", ["x", "places"], ["z"]),
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Reshape", ["z", "shape"], ["y"]),
    ]
    model = models.model(nodes, [models.value("x", ["batch", 4])], [models.value("y", None)])
    assert exported(model, batch_size=3).data_dependent == ()
