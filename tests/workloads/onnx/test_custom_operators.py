"""Operators from libraries: that of onnxruntime-extensions, and one that the case names (a copy of the same)."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import served
from compiled import CPU

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.interface import Compiler
from pytest_ngraph.compilers.onnxruntime import OnnxRuntime
from pytest_ngraph.deploy.folder import write_sums
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.worker.deploy import deploy
from pytest_ngraph.workloads.onnx import custom_operators
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.verify import verify

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
extensions = pytest.importorskip("onnxruntime_extensions")

import onnx_models as models  # noqa: E402

SIZE = 4


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    node = onnx.helper.make_node("Inverse", ["x"], ["y"], domain="ai.onnx.contrib")
    shape = [models.value(name, [SIZE, SIZE]) for name in "xy"]
    model = models.model([node], shape[:1], shape[1:])
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx.contrib", 1))
    onnx.save(model, "net.onnx")
    return tmp_path


def exported(**model_args: str) -> Artifact:
    (folder := Path("exported")).mkdir(exist_ok=True)
    case = Case(workload="net.onnx", compiler="onnxruntime", batch_size=SIZE, model_args=tuple(model_args.items()))
    return OnnxFile().export(case, folder.absolute())


def assert_agrees(compiler: Compiler, artifact: Artifact) -> None:
    (compiled := Path("compiled")).mkdir()
    compiler.compile(artifact, CPU, compiled)
    with closing(compiler.load(artifact, CPU, compiled)) as model:
        assert verify(model.outputs(), artifact.reference(), "fp32").agrees


def test_those_of_onnxruntime_extensions_run_where_it_is_installed() -> None:
    artifact = exported()
    (given,), (inverse,) = artifact.inputs(), artifact.reference()
    np.testing.assert_allclose(given @ inverse, np.eye(SIZE), atol=1e-3)
    assert Artifact.from_dict(artifact.to_dict()).custom_ops == (extensions.get_library_path(),)
    assert_agrees(OnnxRuntime(), artifact)


def test_a_library_of_ones_own_runs_and_is_part_of_what_is_compared() -> None:
    shutil.copy(extensions.get_library_path(), "own.so")
    artifact = exported(custom_ops="own.so")
    assert artifact.custom_ops == (str(Path("own.so").absolute()),)
    assert_agrees(OnnxRuntime(optimization="none"), artifact)
    with Path("own.so").open("ab") as file:
        file.write(b"another build")
    assert exported(custom_ops="own.so").digest != artifact.digest


def test_a_deployed_folder_has_the_library(tmp_path: Path) -> None:
    artifact, place = exported(), tmp_path / "place"
    place.mkdir()
    (compiled := tmp_path / "compiled").mkdir()
    deploy(artifact.case, artifact, CPU, compiled, list, 1e-3, place)
    assert (place / "operators.so").read_bytes() == Path(extensions.get_library_path()).read_bytes()
    write_sums(place)
    done = served.check(place)
    assert done.returncode == 0, done.stderr


def test_its_kernels_are_profiled(tmp_path: Path) -> None:
    with closing(OnnxRuntime().instrument(exported(), CPU, tmp_path)) as model:
        assert [kernel.operator for kernel in model.profile(2)] == ["Inverse"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("none.so", "custom_ops=none.so: no such file in "),
        ("net.onnx", "custom_ops=net.onnx: ONNX Runtime cannot load it: .*net.onnx.* Build it for the installed"),
    ],
)
def test_a_path_of_no_library_is_one_message(given: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        exported(custom_ops=given)
    assert "\n" not in str(caught.value)


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom_operators, "is_importable", lambda name: False)
    with pytest.raises(Unsupported, match=r"has operators of onnxruntime-extensions \(Inverse\): pip install"):
        exported()


def test_listing_needs_no_library() -> None:
    OnnxFile().check(Case(workload="net.onnx", compiler="tvm", batch_size=1, model_args=(("custom_ops", "later.so"),)))
    with pytest.raises(UsageError, match=r"takes no depth\. .* the only model argument is custom_ops"):
        OnnxFile().check(Case(workload="net.onnx", compiler="tvm", batch_size=1, model_args=(("depth", 2),)))
