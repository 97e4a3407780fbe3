"""What ONNX Runtime loads runs, whatever `onnx.checker` says of it; what it does not load is refused in one line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.workloads.onnx.file import OnnxFile

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402

CASE = Case(workload="net.onnx", compiler="identity", batch_size=2)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def exported(case: Case = CASE) -> Artifact:
    folder = Path("exported")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return OnnxFile().export(case, folder)


@pytest.mark.parametrize("keep", [0, 60, 120], ids=lambda keep: f"{keep} bytes")
def test_a_damaged_file_is_refused_in_one_line(keep: int) -> None:
    Path("net.onnx").write_bytes(models.linear([2, 4]).SerializeToString()[:keep])
    with pytest.raises(UsageError, match=r"net\.onnx is not a valid ONNX file") as refusal:
        exported()
    assert "\n" not in str(refusal.value)


def test_a_file_of_something_else_is_refused_in_one_line() -> None:
    Path("net.onnx").write_text("version https://git-lfs.github.com/spec/v1\n" * 3)
    with pytest.raises(UsageError, match=r"net\.onnx is not a valid ONNX file") as refusal:
        exported()
    assert "\n" not in str(refusal.value)


def _without_output_shape() -> Any:
    model = models.linear(["N", 4])
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def _without_output_type() -> Any:
    model = models.linear(["N", 4])
    model.graph.output[0].ClearField("type")
    return model


def _without_a_name() -> Any:
    model = models.linear(["N", 4])
    model.graph.name = ""
    return model


def _in_another_order() -> Any:
    model = models.linear(["N", 4])
    model.graph.node[0].output[0] = "product"
    model.graph.node.insert(0, onnx.helper.make_node("Relu", ["product"], ["y"]))
    return model


def _with_operators_of_a_domain_that_is_not_imported() -> Any:
    model = models.linear(["N", 4])
    model.graph.node[0].output[0] = "product"
    model.graph.node.append(onnx.helper.make_node("BiasGelu", ["product", "b"], ["y"], domain="com.microsoft"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), "b"))
    return model


def _with_a_name_twice() -> Any:
    """A branch names a value as the graph around it does."""
    model = models.linear(["N", 4])
    one = onnx.numpy_helper.from_array(np.ones(3, np.float32), "one")
    branches = [
        onnx.helper.make_graph(
            [onnx.helper.make_node("Add", ["product", "one"], ["z"]), onnx.helper.make_node("Neg", ["z"], ["r"])],
            "branch",
            [],
            [onnx.helper.make_tensor_value_info("r", onnx.TensorProto.FLOAT, ["N", 3])],
        )
        for _ in range(2)
    ]
    model.graph.node[0].output[0] = "product"
    model.graph.node.append(onnx.helper.make_node("Add", ["product", "product"], ["z"]))
    chosen = onnx.helper.make_node("If", ["c"], ["r0"], then_branch=branches[0], else_branch=branches[1])
    model.graph.node.extend([chosen, onnx.helper.make_node("Add", ["r0", "z"], ["y"])])
    model.graph.initializer.extend([one, onnx.numpy_helper.from_array(np.bool_(True), "c")])
    return model


@pytest.mark.parametrize(
    "model",
    [
        _without_output_shape(),
        _without_output_type(),
        _without_a_name(),
        _in_another_order(),
        _with_operators_of_a_domain_that_is_not_imported(),
        _with_a_name_twice(),
    ],
    ids=["no output shape", "no output type", "no name", "another order", "domain not imported", "a name twice"],
)
def test_what_onnx_runtime_runs_is_not_refused(model: Any) -> None:
    Path("net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(onnx.checker.ValidationError):
        onnx.checker.check_model("net.onnx")
    artifact = exported()
    (fed,), (reference,) = artifact.inputs(), artifact.reference()
    session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(reference, session.run(None, {"x": fed})[0], rtol=1e-4, atol=1e-6)
    assert artifact.onnx is not None
    if "BiasGelu" not in str(model.graph.node):  # onnx infers no shapes after ONNX Runtime's own operators
        (output,) = onnx.load(artifact.onnx).graph.output
        assert [axis.dim_value for axis in output.type.tensor_type.shape.dim] == [2, 3]


def _with_an_operator_that_nobody_has() -> Any:
    model = models.linear(["N", 4])
    model.graph.node[0].domain = "mine"
    model.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    return model


def _of_a_later_opset() -> Any:
    model = models.linear(["N", 4])
    model.opset_import[0].version = 999
    return model


@pytest.mark.parametrize("model", [_with_an_operator_that_nobody_has(), _of_a_later_opset()], ids=["operator", "opset"])
def test_what_onnx_runtime_cannot_load_is_no_matter_of_sizes(model: Any) -> None:
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx: ONNX Runtime.* does not load it: .*Export it with") as refusal:
        exported()
    assert "\n" not in str(refusal.value)
    assert "sizes" not in str(refusal.value)


def test_an_input_whose_shape_the_file_does_not_state_gets_it_from_the_mark() -> None:
    model = models.linear(["N", 4])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "net.onnx")
    with pytest.raises(
        UsageError, match=r"net\.onnx states no shape for input 'x'\. .*shapes=\{\"x\": \(\"batch\", 128\)"
    ):
        exported()
    artifact = exported(replace(CASE, shapes=(("x", ("batch", 4)),)))
    assert artifact.inputs()[0].shape == (2, 4)
    np.savez("net.npz", x=np.ones((1, 4), np.float32))
    assert exported().inputs()[0].shape == (2, 4)


def test_a_model_that_refuses_drawn_integers_says_which_were_drawn_and_how_to_give_others() -> None:
    model = models.linear(["N", 4])
    model.graph.input.append(onnx.helper.make_tensor_value_info("rate", onnx.TensorProto.INT64, []))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([0]), "first"))
    nodes = [
        onnx.helper.make_node("Unsqueeze", ["rate", "first"], ["length"]),
        onnx.helper.make_node("Reshape", ["y", "length"], ["line"]),
    ]
    model.graph.node.extend(nodes)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("line", onnx.TensorProto.FLOAT, ["length"]))
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError) as refusal:
        exported()
    message = str(refusal.value)
    assert message.startswith("net.onnx does not run at batch size 2: ")
    assert "It was given integers that were drawn: rate as 0 or 1. " in message
    assert 'If it needs others, give all inputs (x, rate): inputs="package.module:function", or net.npz' in message
    assert "\n" not in message
    np.savez("net.npz", x=np.ones((2, 4), np.float32), rate=np.array(6))
    assert exported().reference()[0].shape == (6,)
