from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case, Precision
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.workloads.export import export
from pytest_ngraph.workloads.onnx.file import OnnxFile

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx_models as models  # noqa: E402


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _case(batch_size: int = 2, name: str = "net.onnx", precision: Precision = "fp32") -> Case:
    return Case(workload=name, compiler="identity", batch_size=batch_size, precision=precision)


def _export(case: Case) -> Artifact:
    folder = Path("exported")
    folder.mkdir(exist_ok=True)
    return OnnxFile().export(case, folder)


def _input_shape(artifact: Artifact) -> list[int]:
    assert artifact.onnx is not None
    (value,) = onnx.load(artifact.onnx).graph.input
    return [axis.dim_value for axis in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("batch_axis", ["N", None, 2], ids=["named", "unnamed", "fixed"])
def test_the_graph_is_written_at_the_batch_size(batch_axis: models.Axis) -> None:
    onnx.save(models.linear([batch_axis, 4]), "net.onnx")
    artifact = _export(_case(batch_size=2))
    assert _input_shape(artifact) == [2, 4]
    assert artifact.program is None
    assert artifact.model.parameters == 12
    (fed,), (reference,) = artifact.inputs(), artifact.reference()
    assert fed.shape == (2, 4)
    np.testing.assert_allclose(reference, fed @ models.WEIGHTS, rtol=1e-5)


def test_the_written_graph_knows_the_shape_of_its_outputs() -> None:
    onnx.save(models.linear(["N", 4]), "net.onnx")
    artifact = _export(_case(batch_size=5))
    assert artifact.onnx is not None
    (output,) = onnx.load(artifact.onnx).graph.output
    assert [axis.dim_value for axis in output.type.tensor_type.shape.dim] == [5, 3]


def test_the_digest_is_that_of_graph_and_weights(tmp_path: Path) -> None:
    digests = []
    for number, value in enumerate((1.0, 1.0, 2.0)):
        model = models.linear([2, 4])
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(models.WEIGHTS * np.float32(value), "w"))
        onnx.save(model, "net.onnx")
        folder = tmp_path / str(number)
        folder.mkdir()
        digests.append(OnnxFile().export(_case(), folder).digest)
    assert digests[0] == digests[1] != digests[2]


def test_weights_beside_the_file_are_carried_along() -> None:
    onnx.save(models.linear([2, 4]), "net.onnx", save_as_external_data=True, location="net.bin", size_threshold=0)
    artifact = _export(_case())
    Path("net.bin").unlink()
    assert artifact.onnx is not None
    (weights,) = onnx.load(artifact.onnx).graph.initializer
    assert np.array_equal(onnx.numpy_helper.to_array(weights), models.WEIGHTS)


def test_half_precision_files_run_in_half_precision() -> None:
    onnx.save(models.linear([2, 4], np.float16), "net.onnx")
    artifact = _export(_case(precision="fp16"))
    assert artifact.inputs()[0].dtype == np.float32
    assert artifact.reference()[0].dtype == np.float32


def test_integer_inputs_are_zeros_and_ones() -> None:
    onnx.save(models.linear([64, 4], np.int64), "net.onnx")
    (fed,) = _export(_case(batch_size=64)).inputs()
    assert fed.dtype == np.int64
    assert set(np.unique(fed)) == {0, 1}


def test_equal_inputs_are_fed_different_values() -> None:
    """With equal values, a graph that confuses its inputs would pass verification."""
    value = onnx.helper.make_tensor_value_info
    names = ("ids", "mask", "types")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Sum", names, ["y"])],
        "sum",
        [value(name, onnx.TensorProto.FLOAT, [2, 8]) for name in names],
        [value("y", onnx.TensorProto.FLOAT, [2, 8])],
    )
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), "net.onnx")
    fed = _export(_case()).inputs()
    assert len({array.tobytes() for array in fed}) == len(names)


def test_a_missing_file_is_refused_with_its_neighbours() -> None:
    onnx.save(models.linear([2, 4]), "other.onnx")
    with pytest.raises(UsageError, match=r"'net\.onnx': no such file in .*There: other\.onnx"):
        OnnxFile().check(_case())


def test_a_missing_folder_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="Give the path relative to that folder"):
        OnnxFile().check(_case(name="nowhere/net.onnx"))


def test_an_onnx_file_has_no_model_args() -> None:
    onnx.save(models.linear([2, 4]), "net.onnx")
    with pytest.raises(UsageError, match=r"heads=2: net\.onnx is an ONNX file and takes no heads"):
        OnnxFile().check(Case(workload="net.onnx", compiler="identity", batch_size=2, model_args=(("heads", 2),)))


def test_a_depth_that_no_axis_has_is_refused() -> None:
    onnx.save(models.linear([2, 4]), "net.onnx")
    with pytest.raises(UsageError, match=r"unknown size of net\.onnx 'depth'"):
        _export(Case(workload="net.onnx", compiler="identity", batch_size=2, depth=2))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (models.linear([8, 4]), r"batch size 8 fixed in input 'x', not 2\. Use batch_size=8"),
        (models.linear([2, "length", 4]), r"leaves open: axis 1 of 'x' \(length\)\. .* sizes=\{\"length\": 128\}"),
    ],
    ids=["batch size", "dynamic axis"],
)
def test_cases_that_the_file_does_not_allow_are_refused_in_one_line(model: Any, message: str) -> None:
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=message) as refusal:
        _export(_case(batch_size=2))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("kind", "found"), [(np.float32, "fp32"), (np.float64, "fp64")])
def test_a_precision_that_the_file_has_not_is_refused(kind: type[np.generic], found: str) -> None:
    onnx.save(models.linear([2, 4], kind), "net.onnx")
    with pytest.raises(UsageError, match=rf"computes in {found}, not in fp16\. .*[Ee]xport it again in fp16"):
        _export(dataclasses.replace(_case(), precision="fp16"))


@pytest.mark.parametrize(("kind", "precision"), [(np.float16, "fp16"), (np.float64, "fp64")])
def test_a_file_in_another_precision_is_left_as_it_is(kind: type[np.generic], precision: str) -> None:
    onnx.save(models.linear([2, 4], kind), "net.onnx")
    artifact = _export(_case())
    assert (artifact.precisions, artifact.input_types) == ((precision,), (np.dtype(kind).name,))


def test_outputs_that_are_drawn_are_known() -> None:
    model = models.linear([2, 4])
    model.graph.node.append(onnx.helper.make_node("RandomNormalLike", ["y"], ["noise"], seed=1.0))
    model.graph.output.append(onnx.helper.make_tensor_value_info("noise", onnx.TensorProto.FLOAT, [2, 3]))
    onnx.save(model, "net.onnx")
    assert _export(_case()).random == ("output[1]",)
    del model.graph.output[0]
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match="all of its outputs depend on them, so that none can be verified"):
        _export(_case())


def test_dropout_in_training_mode_draws() -> None:
    """As networks are exported whose spread over several calls says how sure they are."""
    model = models.linear([2, 4])
    for name, setting in (("ratio", np.float32(0.5)), ("training", np.True_)):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(setting), name))
    model.graph.node.append(onnx.helper.make_node("Dropout", ["y", "ratio", "training"], ["dropped"]))
    model.graph.output.append(models.value("dropped", [2, 3]))
    onnx.save(model, "net.onnx")
    assert _export(_case()).random == ("output[1]",)


def test_a_batch_size_hidden_in_an_operator_is_refused() -> None:
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        onnx.helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    model = models.linear(["N", 4], output=["N", 3])
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([8, 4]), "shape"))
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx does not (run at|fit) batch size 2"):
        _export(_case(batch_size=2))


def test_an_output_that_numpy_has_no_type_for_is_refused() -> None:
    model = models.linear([2, 4])
    model.graph.node.append(onnx.helper.make_node("Cast", ["y"], ["z"], to=onnx.TensorProto.BFLOAT16))
    model.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.BFLOAT16, [2, 3]))
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx gives output 'z' in bf16.* with a Cast at its end"):
        _export(_case())


@pytest.mark.parametrize("kind", ["bfloat16", "float8e4m3fn", "int4", "complex64"])
def test_an_input_that_numpy_lacks_or_onnxruntime_does_not_take_is_refused(kind: str) -> None:
    node, said = onnx.helper.make_node("Cast", ["x"], ["y"], to=models.FLOAT), kind.replace("bfloat", "bf")
    inputs = [models.value("x", ["N", 4], getattr(onnx.TensorProto, kind.upper()))]
    onnx.save(models.model([node], inputs, [models.value("y", ["N", 4])]), "net.onnx")
    with pytest.raises(UsageError, match=rf"net\.onnx takes input 'x' in {said}\..* with a Cast at its beginning"):
        _export(_case())


def test_shapes_are_inferred_without_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights may be larger than 2 GiB, the limit of shape inference."""
    infer, sizes = onnx.shape_inference.infer_shapes, []

    def inferred(model: Any, **options: Any) -> Any:
        sizes.append(model.ByteSize())
        return infer(model, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", inferred)
    model = models.linear([2, 1000])
    weights = np.ones((1000, 3), np.float32)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, "net.onnx")
    artifact = _export(_case())
    assert sizes[0] < weights.nbytes
    assert artifact.onnx is not None
    (written,) = onnx.load(artifact.onnx).graph.initializer
    assert np.array_equal(onnx.numpy_helper.to_array(written), weights)


def test_a_quantized_file_is_recognised() -> None:
    onnx.save(models.linear([2, 4]), "net.onnx")
    assert not _export(_case()).quantized
    model = models.linear([2, 4])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.1, np.float32), "step"))
    model.graph.node.append(onnx.helper.make_node("QuantizeLinear", ["y", "step"], ["z"]))
    model.graph.node.append(onnx.helper.make_node("DequantizeLinear", ["z", "step"], ["rounded"]))
    model.graph.output[0].name = "rounded"
    onnx.save(model, "net.onnx")
    shutil.rmtree("exported")
    assert _export(_case()).quantized


def test_a_quantized_file_is_recognised_after_onnx_runtime_has_optimized_it() -> None:
    """It fuses the standard operators into its own."""
    fused = onnx.helper.make_node("DynamicQuantizeMatMul", ["x", "w", "step"], ["y"], domain="com.microsoft")
    inputs, outputs = [models.value("x", [2, 4])], [models.value("y", [2, 3])]
    weights = models.WEIGHTS.astype(np.int8)
    onnx.save(models.model([fused], inputs, outputs, w=weights, step=np.float32(0.1)), "net.onnx")
    assert _export(_case()).quantized


def test_a_file_that_computes_nothing_finite_is_refused() -> None:
    model = models.linear(["N", 4])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(models.WEIGHTS * np.float32(np.nan), "w"))
    onnx.save(model, "net.onnx")
    Path("exported").mkdir()
    with pytest.raises(UsageError, match=r"net\.onnx: output 0 of the reference has only NaN values.* Give it weights"):
        export(_case(), Path("exported"))


def test_there_is_no_module_to_build() -> None:
    with pytest.raises(Unsupported, match="has no PyTorch module"):
        OnnxFile().build(_case())


@pytest.mark.parametrize(
    ("library", "command"),
    [("onnx", "pip install onnx$"), ("onnxruntime", "pip install --force-reinstall --no-deps onnxruntime[-a-z]*==")],
)
def test_without_the_libraries_the_message_says_how_to_install_them(
    library: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(models.linear([2, 4]), "net.onnx")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unsupported, match=command):
        _export(_case())
