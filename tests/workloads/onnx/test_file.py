from __future__ import annotations

import shutil
import sys
from dataclasses import replace
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
onnxruntime = pytest.importorskip("onnxruntime")

WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3)
Axis = int | str | None


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _linear(shape: list[Axis], kind: type[np.generic] = np.float32, output: list[Axis] | None = None) -> Any:
    """Return the model y = x @ WEIGHTS."""
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "linear",
        [onnx.helper.make_tensor_value_info("x", element, shape)],
        [onnx.helper.make_tensor_value_info("y", element, output or [*shape[:-1], 3])],
        [onnx.numpy_helper.from_array(WEIGHTS.astype(kind), "w")],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)


def _case(batch_size: int = 2, name: str = "net.onnx", precision: Precision = "fp32") -> Case:
    return Case(workload=name, compiler="identity", batch_size=batch_size, precision=precision)


def _export(case: Case) -> Artifact:
    folder = Path("exported")
    folder.mkdir()
    return OnnxFile().export(case, folder)


def _input_shape(artifact: Artifact) -> list[int]:
    assert artifact.onnx is not None
    (value,) = onnx.load(artifact.onnx).graph.input
    return [axis.dim_value for axis in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize("batch_axis", ["N", None, 2], ids=["named", "unnamed", "fixed"])
def test_the_graph_is_written_at_the_batch_size(batch_axis: Axis) -> None:
    onnx.save(_linear([batch_axis, 4]), "net.onnx")
    artifact = _export(_case(batch_size=2))
    assert _input_shape(artifact) == [2, 4]
    assert artifact.program is None
    assert artifact.model.parameters == 12
    (fed,), (reference,) = artifact.inputs(), artifact.reference()
    assert fed.shape == (2, 4)
    np.testing.assert_allclose(reference, fed @ WEIGHTS, rtol=1e-5)


def test_the_written_graph_knows_the_shape_of_its_outputs() -> None:
    onnx.save(_linear(["N", 4]), "net.onnx")
    artifact = _export(_case(batch_size=5))
    assert artifact.onnx is not None
    (output,) = onnx.load(artifact.onnx).graph.output
    assert [axis.dim_value for axis in output.type.tensor_type.shape.dim] == [5, 3]


def test_the_digest_is_that_of_graph_and_weights(tmp_path: Path) -> None:
    digests = []
    for number, value in enumerate((1.0, 1.0, 2.0)):
        model = _linear([2, 4])
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(WEIGHTS * np.float32(value), "w"))
        onnx.save(model, "net.onnx")
        folder = tmp_path / str(number)
        folder.mkdir()
        digests.append(OnnxFile().export(_case(), folder).digest)
    assert digests[0] == digests[1] != digests[2]


def test_weights_beside_the_file_are_carried_along() -> None:
    onnx.save(_linear([2, 4]), "net.onnx", save_as_external_data=True, location="net.bin", size_threshold=0)
    artifact = _export(_case())
    Path("net.bin").unlink()
    assert artifact.onnx is not None
    (weights,) = onnx.load(artifact.onnx).graph.initializer
    assert np.array_equal(onnx.numpy_helper.to_array(weights), WEIGHTS)


def test_half_precision_files_run_in_half_precision() -> None:
    onnx.save(_linear([2, 4], np.float16), "net.onnx")
    artifact = _export(_case(precision="fp16"))
    assert artifact.inputs()[0].dtype == np.float32
    assert artifact.reference()[0].dtype == np.float32


def test_integer_inputs_are_zeros_and_ones() -> None:
    onnx.save(_linear([64, 4], np.int64), "net.onnx")
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
    onnx.save(_linear([2, 4]), "other.onnx")
    with pytest.raises(UsageError, match=r"'net\.onnx': no such file in .*There: other\.onnx"):
        OnnxFile().check(_case())


def test_a_missing_folder_is_refused_with_advice() -> None:
    with pytest.raises(UsageError, match="Give the path relative to that folder"):
        OnnxFile().check(_case(name="nowhere/net.onnx"))


def test_an_onnx_file_has_no_model_args() -> None:
    onnx.save(_linear([2, 4]), "net.onnx")
    with pytest.raises(UsageError, match=r"heads=2: net\.onnx is an ONNX file and takes no heads"):
        OnnxFile().check(Case(workload="net.onnx", compiler="identity", batch_size=2, model_args=(("heads", 2),)))


def test_a_depth_that_no_axis_has_is_refused() -> None:
    onnx.save(_linear([2, 4]), "net.onnx")
    with pytest.raises(UsageError, match=r"unknown size of net\.onnx 'depth'"):
        _export(Case(workload="net.onnx", compiler="identity", batch_size=2, depth=2))


@pytest.mark.parametrize("keep", [0, 60, 120], ids=lambda keep: f"{keep} bytes")
def test_a_damaged_file_is_refused_in_one_line(keep: int) -> None:
    Path("net.onnx").write_bytes(_linear([2, 4]).SerializeToString()[:keep])
    with pytest.raises(UsageError, match=r"net\.onnx is not a valid ONNX file") as refusal:
        _export(_case())
    assert "\n" not in str(refusal.value)


def test_a_file_of_something_else_is_refused_in_one_line() -> None:
    Path("net.onnx").write_text("version https://git-lfs.github.com/spec/v1\n" * 3)
    with pytest.raises(UsageError, match=r"net\.onnx is not a valid ONNX file") as refusal:
        _export(_case())
    assert "\n" not in str(refusal.value)


def _without_output_shape() -> Any:
    model = _linear(["N", 4])
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return model


def _without_output_type() -> Any:
    model = _linear(["N", 4])
    model.graph.output[0].ClearField("type")
    return model


def _without_a_name() -> Any:
    model = _linear(["N", 4])
    model.graph.name = ""
    return model


def _in_another_order() -> Any:
    model = _linear(["N", 4])
    model.graph.node[0].output[0] = "product"
    model.graph.node.insert(0, onnx.helper.make_node("Relu", ["product"], ["y"]))
    return model


def _with_operators_of_a_domain_that_is_not_imported() -> Any:
    model = _linear(["N", 4])
    model.graph.node[0].output[0] = "product"
    model.graph.node.append(onnx.helper.make_node("BiasGelu", ["product", "b"], ["y"], domain="com.microsoft"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(3, np.float32), "b"))
    return model


def _with_a_name_twice() -> Any:
    """A branch names a value as the graph around it does."""
    model = _linear(["N", 4])
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
    artifact = _export(_case(batch_size=2))
    (fed,), (reference,) = artifact.inputs(), artifact.reference()
    session = onnxruntime.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(reference, session.run(None, {"x": fed})[0], rtol=1e-4, atol=1e-6)
    assert artifact.onnx is not None
    if "BiasGelu" not in str(model.graph.node):  # onnx infers no shapes after ONNX Runtime's own operators
        (output,) = onnx.load(artifact.onnx).graph.output
        assert [axis.dim_value for axis in output.type.tensor_type.shape.dim] == [2, 3]


def _with_an_operator_that_nobody_has() -> Any:
    model = _linear(["N", 4])
    model.graph.node[0].domain = "mine"
    model.opset_import.append(onnx.helper.make_opsetid("mine", 1))
    return model


def _of_a_later_opset() -> Any:
    model = _linear(["N", 4])
    model.opset_import[0].version = 999
    return model


@pytest.mark.parametrize("model", [_with_an_operator_that_nobody_has(), _of_a_later_opset()], ids=["operator", "opset"])
def test_what_onnx_runtime_cannot_load_is_no_matter_of_sizes(model: Any) -> None:
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx: ONNX Runtime.* does not load it: .*Export it with") as refusal:
        _export(_case())
    assert "\n" not in str(refusal.value)
    assert "sizes" not in str(refusal.value)


def test_an_input_whose_shape_the_file_does_not_state_gets_it_from_the_mark() -> None:
    model = _linear(["N", 4])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(model, "net.onnx")
    with pytest.raises(
        UsageError, match=r"net\.onnx states no shape for input 'x'\. .*shapes=\{\"x\": \(\"batch\", 128\)"
    ):
        _export(_case(batch_size=2))
    shutil.rmtree("exported")
    artifact = _export(replace(_case(batch_size=2), shapes=(("x", ("batch", 4)),)))
    assert _input_shape(artifact) == [2, 4]
    shutil.rmtree("exported")
    np.savez("net.npz", x=np.ones((1, 4), np.float32))
    assert _input_shape(_export(_case(batch_size=2))) == [2, 4]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_linear([8, 4]), r"batch size 8 fixed in input 'x', not 2\. Use batch_size=8"),
        (_linear([2, "length", 4]), r"leaves open: axis 1 of 'x' \(length\)\. .* sizes=\{\"length\": 128\}"),
        (
            _linear([2, 4], np.float16),
            r"computes in fp16, not in fp32\. Use precision=fp16, or export it again in fp32",
        ),
        (_linear([2, 4], np.float64), r"computes in fp64, not in fp32\. Export it again in fp32"),
    ],
    ids=["batch size", "dynamic axis", "half", "double"],
)
def test_cases_that_the_file_does_not_allow_are_refused_in_one_line(model: Any, message: str) -> None:
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=message) as refusal:
        _export(_case(batch_size=2))
    assert "\n" not in str(refusal.value)


def test_a_batch_size_hidden_in_an_operator_is_refused() -> None:
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        onnx.helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    model = _linear(["N", 4], output=["N", 3])
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([8, 4]), "shape"))
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx does not (run at|fit) batch size 2"):
        _export(_case(batch_size=2))


@pytest.mark.parametrize(
    "location", ["../secret.bin", "/etc/hostname", "inside.bin"], ids=["above", "absolute", "link"]
)
def test_weights_outside_the_folder_are_never_read(location: str, tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "inside.bin").symlink_to(tmp_path / "secret.bin")
    model = _linear([2, 4])
    weights = model.graph.initializer[0]
    weights.ClearField("raw_data")
    weights.data_location = onnx.TensorProto.EXTERNAL
    weights.external_data.add(key="location", value=location)
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(UsageError, match="weights 'w' lie outside its folder"):
        _export(_case(name="models/net.onnx"))


def test_an_output_that_numpy_has_no_type_for_is_refused() -> None:
    model = _linear([2, 4])
    model.graph.node.append(onnx.helper.make_node("Cast", ["y"], ["z"], to=onnx.TensorProto.BFLOAT16))
    model.graph.output.append(onnx.helper.make_tensor_value_info("z", onnx.TensorProto.BFLOAT16, [2, 3]))
    onnx.save(model, "net.onnx")
    with pytest.raises(UsageError, match=r"net\.onnx gives output 'z' in bf16"):
        _export(_case())


def test_shapes_are_inferred_without_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights may be larger than 2 GiB, the limit of shape inference."""
    infer, sizes = onnx.shape_inference.infer_shapes, []

    def inferred(model: Any, **options: Any) -> Any:
        sizes.append(model.ByteSize())
        return infer(model, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", inferred)
    model = _linear([2, 1000])
    weights = np.ones((1000, 3), np.float32)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    onnx.save(model, "net.onnx")
    artifact = _export(_case())
    assert sizes[0] < weights.nbytes
    assert artifact.onnx is not None
    (written,) = onnx.load(artifact.onnx).graph.initializer
    assert np.array_equal(onnx.numpy_helper.to_array(written), weights)


def test_a_quantized_file_is_recognised() -> None:
    onnx.save(_linear([2, 4]), "net.onnx")
    assert not _export(_case()).quantized
    model = _linear([2, 4])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.1, np.float32), "step"))
    model.graph.node.append(onnx.helper.make_node("QuantizeLinear", ["y", "step"], ["z"]))
    model.graph.node.append(onnx.helper.make_node("DequantizeLinear", ["z", "step"], ["rounded"]))
    model.graph.output[0].name = "rounded"
    onnx.save(model, "net.onnx")
    shutil.rmtree("exported")
    assert _export(_case()).quantized


def test_a_file_that_computes_nothing_finite_is_refused() -> None:
    model = _linear(["N", 4])
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(WEIGHTS * np.float32(np.nan), "w"))
    onnx.save(model, "net.onnx")
    Path("exported").mkdir()
    with pytest.raises(UsageError, match=r"net\.onnx: output 0 of the reference has only NaN values.* Give it weights"):
        export(_case(), Path("exported"))


def test_a_model_that_refuses_drawn_integers_says_which_were_drawn_and_how_to_give_others() -> None:
    model = _linear(["N", 4])
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
        _export(_case(batch_size=2))
    message = str(refusal.value)
    assert message.startswith("net.onnx does not run at batch size 2: ")
    assert "It was given integers that were drawn: rate as 0 or 1. " in message
    assert 'If it needs others, give all inputs (x, rate): inputs="package.module:function", or net.npz' in message
    assert "\n" not in message
    np.savez("net.npz", x=np.ones((2, 4), np.float32), rate=np.array(6))
    shutil.rmtree("exported")
    assert _export(_case(batch_size=2)).reference()[0].shape == (6,)


def test_there_is_no_module_to_build() -> None:
    with pytest.raises(Unsupported, match="has no PyTorch module"):
        OnnxFile().build(_case())


@pytest.mark.parametrize("library", ["onnx", "onnxruntime"])
def test_without_the_libraries_the_message_says_how_to_install_them(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx.save(_linear([2, 4]), "net.onnx")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unsupported, match=r'pip install "pytest-ngraph\[onnxruntime\]"'):
        _export(_case())
