"""What a compiler says about a model that it cannot deploy, and what the built-in ones write."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
from pathlib import Path
from typing import ClassVar

import pytest
from compiled import CPU, THROUGHPUT, Export, require
from served import conv

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import pytorch, serving
from pytest_ngraph.compilers.inductor.package import PACKAGE
from pytest_ngraph.compilers.pytorch import rebuilt
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads import construction


class Undeployable:
    libraries: ClassVar[tuple[str, ...]] = ()
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None: ...

    def load(self, artifact: Artifact, target: Target, folder: Path) -> compilers.CompiledModel:
        raise NotImplementedError


def artifact(folder: Path, compiler: str, **fields: object) -> Artifact:
    return Artifact(folder=folder, case=Case(workload="conv", compiler=compiler, batch_size=1), **fields)  # type: ignore[arg-type]


def deployed(artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
    name = artifact.case.compiler
    return serving.deploy(name, compilers.resolve(name), artifact, target, compiled, folder)


def test_a_compiler_without_the_method_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="mine:U has no method deploy"):
        serving.deploy("mine:U", Undeployable(), artifact(tmp_path, "mine:U"), CPU, tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("compiler", "target", "fields", "reason"),
    [
        ("inductor:ahead_of_time=false", CPU, {}, "deploy inductor without ahead_of_time=false"),
        ("inductor", THROUGHPUT, {}, "deploy the objective latency"),
        ("inductor", Target(kind="cuda"), {}, "on a GPU it replays CUDA graphs"),
        ("inductor", Target(kind="xpu"), {}, "it makes packages for a CPU only"),
        ("inductor:graph=module", CPU, {}, "deploy inductor without graph=module"),
        ("inductor", CPU, {"export_error": "ValueError: a branch"}, "ValueError: a branch"),
        ("identity", CPU, {"export_error": "ValueError: a branch"}, "torch.export refuses conv: ValueError: a branch"),
        ("onnxruntime:provider=dnnl", CPU, {}, "onnxruntime:provider=dnnl cannot be deployed: only cpu and cuda can"),
        ("onnxruntime", CPU, {"precisions": ("bf16",)}, "cannot be deployed in bf16"),
    ],
)
def test_what_cannot_be_deployed_has_a_reason(
    tmp_path: Path, compiler: str, target: Target, fields: dict[str, object], reason: str
) -> None:
    require(compiler)
    with pytest.raises(Unsupported, match=re.escape(reason)):
        deployed(artifact(tmp_path, compiler, **fields), target, tmp_path, tmp_path)


def test_operators_of_ones_own_are_code_that_the_folder_lacks(exported: Export, tmp_path: Path) -> None:
    case = Case(workload="twice:build", compiler="identity", batch_size=2)
    own = dataclasses.replace(exported(case), files={"/home/me/twice.py": "a digest"})
    with pytest.raises(Unsupported, match="twice defines operators of its program, and"):
        deployed(own, CPU, tmp_path, tmp_path)


def test_a_model_that_writes_into_a_buffer_answers_one_call_at_a_time(exported: Export, tmp_path: Path) -> None:
    case = Case(workload="nets_with_state:writing", compiler="identity", batch_size=2, model_args=(("how", "fills"),))
    assert not deployed(exported(case), CPU, tmp_path, tmp_path).concurrent
    with pytest.raises(Unsupported, match="writing writes into padded in each call, and calls side by side would read"):
        deployed(exported(case), Target(cores=(0, 1), objective="throughput"), tmp_path, tmp_path)


def test_a_package_says_that_it_is_unpacked(exported: Export, tmp_path: Path) -> None:
    """In a container whose folders are all read-only, it cannot be loaded."""
    (compiled := tmp_path / "compiled").mkdir()
    (compiled / PACKAGE).touch()
    (note,) = deployed(exported(conv("inductor")), CPU, compiled, tmp_path).notes
    assert "unpacks the package into the folder for temporary files (`TMPDIR`" in note


def test_a_trace_with_a_number_of_the_sample_is_refused(exported: Export, tmp_path: Path) -> None:
    """Its folder would compute with that number for other inputs, too."""
    (tmp_path / "source.txt").write_text("program")
    case = Case(workload="deciding:repeated", compiler="torchscript", batch_size=1)
    with pytest.raises(Unsupported, match="deciding:repeated: it computes with a number read from a tensor"):
        deployed(exported(case), CPU, tmp_path, tmp_path)
    rows = Case(workload="deciding:positive", compiler="torchscript", batch_size=1)
    (tmp_path / "model.pt").touch()
    (tmp_path / "out").mkdir()
    assert exported(rows).values_decide
    assert deployed(exported(rows), CPU, tmp_path, tmp_path / "out").files


@pytest.mark.parametrize("compiler", ["tensorrt", "tensorrt_rtx"])
def test_tensorrt_without_a_gpu_to_try_it_on(exported: Export, tmp_path: Path, compiler: str) -> None:
    (compiled := tmp_path / "compiled").mkdir()
    (out := tmp_path / "out").mkdir()
    (compiled / "model.plan").write_bytes(b"a plan")
    (compiled / "bindings.json").write_text(json.dumps({"inputs": ["x"], "outputs": ["y", "z"], "facts": {}}))
    case = Case(workload="conv", compiler=compiler, batch_size=1, width=16)
    found = deployed(exported(case), Target(kind="cuda"), compiled, out)
    assert (out / "model.plan").read_bytes() == b"a plan"
    assert found.libraries == (compiler, "torch")
    assert "INPUTS, OUTPUTS = ['x'], ['y', 'z']" in found.code
    ast.parse(found.code)


GPUS = [
    (Target(kind="cuda", index=1), "cuda"),
    (Target(kind="rocm", index=1), "cuda"),
    (Target(kind="xpu", index=1), "xpu:1"),
    (Target(kind="mps"), "mps"),
]
"""Targets, and PyTorch's name of each in a process that sees only the GPU of its index, where others can be hidden."""


@pytest.mark.parametrize(("target", "device"), GPUS)
@pytest.mark.parametrize("compiler", ["identity", "torchscript"])
def test_a_model_is_served_on_the_gpu_that_it_was_measured_on(
    compiler: str, target: Target, device: str, exported: Export, tmp_path: Path
) -> None:
    case = Case(workload="conv", compiler=compiler, batch_size=1, width=16)
    for name, text in (("model.pt", "a module"), ("source.txt", "program")):
        (tmp_path / name).write_text(text)
    (out := tmp_path / "out").mkdir()
    code = deployed(exported(case), target, tmp_path, out).code
    named = re.findall(r"""(?:pt2"\), |\.to\(|map_location=)"([\w:]+)\"""", code)
    assert named == [device] * (3 if compiler == "identity" else 2), "the model and its inputs"
    assert f'torch.from_numpy(array).contiguous().to("{device}") for array in inputs' in code
    assert "tensor = tensor.detach().cpu()" in code
    assert ("allow_tf32 = False" in code) == (device == "cuda")
    assert ("cudnn.benchmark = True" in code) == (device == "cuda")
    ast.parse(code)


@pytest.mark.parametrize(("target", "device"), GPUS)
def test_the_weights_of_a_module_are_served_on_the_gpu_that_it_was_measured_on(
    target: Target, device: str, exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("timm")
    monkeypatch.setattr(pytorch, "rebuilt", lambda artifact, _: rebuilt(artifact, CPU))
    case = Case(workload="resnet18", compiler="identity", batch_size=1, model_args=(("num_classes", 3),))
    found = deployed(exported(case), target, tmp_path, tmp_path)
    assert f'timm.create_model("resnet18", num_classes=3).eval().to("{device}")' in found.code
    assert f'.contiguous().to("{device}") for array in inputs' in found.code


def test_a_serving_travels_as_json() -> None:
    made = Serving(libraries=("a",), imports=("import a",), code="x", files={"f": "g"}, streams=2, notes=("n",))
    assert Serving.from_dict(json.loads(json.dumps(made.to_dict()))) == made


def test_identity_writes_the_weights_of_a_model_that_a_library_builds(tmp_path: Path, exported: Export) -> None:
    pytest.importorskip("timm")
    case = Case(workload="resnet18", compiler="identity", batch_size=1, model_args=(("num_classes", 3),))
    found = deployed(exported(case), CPU, tmp_path, tmp_path)
    assert 'timm.create_model("resnet18", num_classes=3).eval()' in found.code
    assert found.libraries == ("torch", "timm")
    assert list(found.files) == ["weights.pt"]


@pytest.mark.parametrize(
    ("workload", "model_args", "expression"),
    [
        ("vit_tiny_patch16_224", {"img_size": 96}, 'timm.create_model("vit_tiny_patch16_224", img_size=96)'),
        ("resnet18", {"img_size": 96, "pretrained": True}, 'timm.create_model("resnet18")'),
        ("hf-hub:owner/name", {}, None),
        ("torchvision:resnet18", {}, 'torchvision.models.get_model("resnet18", weights=None)'),
        ("torchvision:resnet18", {"pretrained": True}, None),
        ("torchvision:fcos_resnet50_fpn", {}, None),
        ("conv", {}, None),
    ],
)
def test_how_a_library_builds_a_model(workload: str, model_args: dict[str, object], expression: str | None) -> None:
    pytest.importorskip("timm")
    pytest.importorskip("torchvision")
    case = Case(workload=workload, compiler="identity", batch_size=1, model_args=tuple(sorted(model_args.items())))  # type: ignore[arg-type]
    found = construction(case)
    assert (found.expression if found else None) == expression
