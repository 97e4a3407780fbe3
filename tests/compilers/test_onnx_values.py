"""ONNX files with texts, sequences, maps and optional values: what ONNX Runtime runs, identity and onnxruntime run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import Compiler
from pytest_ngraph.compilers.identity import Identity
from pytest_ngraph.compilers.onnxruntime import OnnxRuntime
from pytest_ngraph.compilers.openvino import OpenVino
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.verify import verify

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402
from onnx import helper  # noqa: E402

HALF, DOUBLE = onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "data", raising=False)


def texts() -> Any:
    """Return a model that looks texts up: a batch of words becomes their numbers, and the words again."""
    nodes = [
        helper.make_node(
            "LabelEncoder", ["words"], ["y"], domain="ai.onnx.ml", keys_strings=["text", "b"], values_int64s=[3, 4]
        ),
        helper.make_node("Identity", ["words"], ["same"]),
    ]
    inputs = [models.value("words", ["N", 2], models.STRING)]
    outputs = [models.value("y", ["N", 2], models.INT64), models.value("same", ["N", 2], models.STRING)]
    return _with_ml(models.model(nodes, inputs, outputs))


def sequence(shape: list[Any], element: int = models.FLOAT) -> Any:
    """Return a model that joins a sequence of tensors, and gives it back."""
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(element, shape))
    nodes = [
        helper.make_node("ConcatFromSequence", ["parts"], ["y"], axis=0),
        helper.make_node("Identity", ["parts"], ["same"]),
    ]
    outputs = [models.value("y", ["rows", 4], element), helper.make_value_info("same", kind)]
    return models.model(nodes, [helper.make_value_info("parts", kind)], outputs)


def classifier() -> Any:
    """Return a model that gives a map of each sample's scores, as those of scikit-learn do."""
    node = helper.make_node("ZipMap", ["x"], ["scores"], domain="ai.onnx.ml", classlabels_int64s=[5, 7, 9])
    scores = helper.make_sequence_type_proto(
        helper.make_map_type_proto(models.INT64, helper.make_tensor_type_proto(models.FLOAT, []))
    )
    output = helper.make_value_info("scores", scores)
    return _with_ml(models.model([node], [models.value("x", ["N", 3])], [output]))


def optional(element: int = models.FLOAT) -> Any:
    """Return a model with an input that may be left out."""
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(models.FLOAT, [2]))
    nodes = [
        helper.make_node("OptionalHasElement", ["maybe"], ["has"]),
        helper.make_node("Relu", ["x"], ["y"]),
    ]
    inputs = [models.value("x", ["N", 2], element), helper.make_value_info("maybe", kind)]
    return models.model(nodes, inputs, [models.value("y", ["N", 2], element), models.value("has", [], models.BOOL)])


def _with_ml(model: Any) -> Any:
    for opset in model.opset_import:
        opset.version = 3 if opset.domain else opset.version
    return model


def exported(model: Any, inputs: str = "") -> Artifact:
    onnx.save(model, "net.onnx")
    shutil.rmtree("exported", ignore_errors=True)
    Path("exported").mkdir()
    return OnnxFile().export(
        Case(workload="net.onnx", compiler="identity", batch_size=2, inputs=inputs), Path("exported")
    )


@pytest.mark.parametrize("compiler", [Identity(), OnnxRuntime()], ids=["identity", "onnxruntime"])
@pytest.mark.parametrize(
    ("model", "shapes"),
    [
        (texts(), [(2, 2), (2, 2)]),
        (sequence([3, 4]), [(6, 4), (3, 4), (3, 4)]),
        (classifier(), [(3,), (3,), (3,), (3,)]),
        (optional(), [(2, 2), ()]),
        (sequence([3, 4], HALF), [(6, 4), (3, 4), (3, 4)]),
        (optional(HALF), [(2, 2), ()]),
        (sequence([3, 4], DOUBLE), [(6, 4), (3, 4), (3, 4)]),
    ],
    ids=["texts", "sequence", "maps", "optional", "sequence of halves", "halves", "sequence of doubles"],
)
def test_what_onnx_runtime_runs_runs_and_is_verified(
    model: Any, shapes: list[tuple[int, ...]], compiler: Compiler
) -> None:
    artifact = exported(model)
    Path("compiled").mkdir()
    compiler.compile(artifact, Target(), Path("compiled"))
    loaded = compiler.load(artifact, Target(), Path("compiled"))
    loaded()
    outputs = loaded.outputs()
    assert [output.shape for output in outputs] == shapes
    assert verify(outputs, artifact.reference(), "fp32").agrees
    wrong = [output.copy() for output in outputs]
    wrong[0] = wrong[0] + 1 if wrong[0].dtype.kind != "U" else np.full_like(wrong[0], "x")
    assert not verify(wrong, artifact.reference(), "fp32").agrees
    loaded.close()


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (texts(), "input 'words' (texts), output 'same' (texts)"),
        (sequence([3, 4]), "input 'parts' (sequence), output 'same' (sequence)"),
        (classifier(), "output 'scores' (sequence)"),
    ],
)
def test_other_compilers_skip_with_the_reason(model: Any, what: str) -> None:
    pytest.importorskip("openvino")
    artifact = exported(model)
    with pytest.raises(Unsupported) as skipped:
        OpenVino().compile(artifact, Target(), Path("exported"))
    assert str(skipped.value) == (
        f"openvino takes and gives tensors of numbers, and net.onnx has {what}. Use onnxruntime or identity."
    )


def test_a_sequence_of_any_shape_is_given_by_the_user() -> None:
    with pytest.raises(UsageError, match=r"what input 'parts' holds .* Give the inputs: inputs=\"package"):
        exported(sequence([None, 4]))
    Path("data.py").write_text(
        "import numpy as np\ndef parts(): return {'parts': [np.ones((n, 4), np.float32) for n in (1, 2)]}\n"
    )
    assert [array.shape for array in exported(sequence([None, 4]), inputs="data:parts").inputs()] == [(1, 4), (2, 4)]


def test_texts_are_given_by_the_user() -> None:
    Path("data.py").write_text("def words(): return {'words': [['b', 'text'], ['b', 'b']]}\n")
    assert exported(texts(), inputs="data:words").reference()[0].tolist() == [[4, 3], [4, 4]]
