from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from compiled import CPU, THROUGHPUT, Export, Load
from packaging.version import Version

from pytest_ngraph.artifact import Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import cuda, resolve
from pytest_ngraph.compilers.onnx_export import ELEMENT_TYPES, write_onnx
from pytest_ngraph.compilers.onnxruntime import PROVIDERS, OnnxRuntime, _providers
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.system import onnx_distributions
from pytest_ngraph.workloads.onnx.file import OnnxFile
from pytest_ngraph.workloads.verify import verify

ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

CASE = Case(workload="mha", compiler="onnxruntime", batch_size=2, width=16)
needs_opset_23 = pytest.mark.skipif(
    Version(version("torch")) < Version("2.8"), reason="its exporter has the operator Attention from PyTorch 2.8 on"
)


@pytest.fixture(scope="module", autouse=True)
def _written_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What these tests write as ONNX from one artifact with the same options is written once."""
    written: dict[tuple[object, ...], tuple[Path, dict[str, int]]] = {}

    def write_once(artifact: Artifact, path: Path, **options: Any) -> dict[str, int]:
        key = artifact.folder, *sorted(options.items())
        if key not in written:
            folder = tmp_path_factory.mktemp("written")
            written[key] = folder, write_onnx(artifact, folder / path.name, **options)
        folder, counts = written[key]
        shutil.copytree(folder, path.parent, dirs_exist_ok=True)
        return counts

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_ngraph.compilers.onnxruntime.write_onnx", write_once)
        yield


@pytest.mark.parametrize("function", ["spectrum", "of_complex"])
def test_complex_numbers_are_pairs_of_real_ones(function: str, load: Load, exported: Export) -> None:
    case = Case(workload=f"complex_nets:{function}", compiler="onnxruntime", batch_size=2)
    assert verify(load(case).outputs(), exported(case).reference(), "fp32").agrees


@pytest.mark.parametrize("level", ["all", "extended", "basic", "none"])
def test_every_optimization_level_keeps_the_outputs(level: str, load: Load, exported: Export) -> None:
    model = load(Case.from_dict(CASE.to_dict() | {"compiler": f"onnxruntime:optimization={level}"}))
    assert verify(model.outputs(), exported(CASE).reference(), "fp32").agrees
    assert model.facts["optimization"] == level


@pytest.mark.parametrize(
    ("options", "domain", "operator"),
    [
        ("opset=20", "", "Softmax"),
        pytest.param("opset=23", "", "Attention", marks=needs_opset_23),
        ("opset=20,rewrite=true", "com.microsoft", "MultiHeadAttention"),
    ],
)
def test_attention_can_be_one_operator(
    options: str, domain: str, operator: str, load: Load, exported: Export, tmp_path: Path
) -> None:
    import onnx

    case = Case(workload="attending:attention", compiler=f"onnxruntime:{options}", batch_size=2)
    resolve(case.compiler).compile(exported(case), CPU, tmp_path)
    nodes = onnx.load(tmp_path / "model.onnx").graph.node
    assert (domain, operator) in {(node.domain, node.op_type) for node in nodes}
    model = load(case, folder=tmp_path)
    assert verify(model.outputs(), exported(case).reference(), "fp32").agrees
    assert ("sdpa" in model.facts.get("rewritten", "")) == ("rewrite" in options)


@pytest.mark.parametrize("options", ["opset=23", "rewrite=true"])
def test_an_onnx_file_runs_unchanged(options: str, tmp_path: Path, onnx_file: Path) -> None:
    case = Case(workload=str(onnx_file), compiler=f"onnxruntime:{options}", batch_size=2)
    with pytest.raises(Unsupported, match="is an ONNX file, which runs unchanged"):
        resolve(case.compiler).compile(OnnxFile().export(case, tmp_path), CPU, tmp_path)


@pytest.mark.parametrize(
    ("nodes", "output"),
    [
        ([("Relu", ["x"], "y", {})], ("x", "FLOAT", [2, 4])),
        ([("Relu", ["x"], "y", {})], ("y", "FLOAT", [2, 4])),
        ([("Relu", ["x"], "y", {}), ("Cast", ["y"], "z", {"to": 12})], ("z", "UINT32", [2, 4])),
        ([("Relu", ["x"], "y", {}), ("Slice", ["y", "zero", "zero", "one"], "z", {})], ("z", "FLOAT", [2, 0])),
        ([("Relu", ["x"], "y", {}), ("NonZero", ["y"], "z", {})], ("z", "INT64", [2, "found"])),
    ],
    ids=["an input", "one twice", "unsigned", "empty", "of a shape known only after running"],
)
def test_every_output_of_an_onnx_file_is_returned(
    nodes: list[tuple[str, list[str], str, dict[str, int]]],
    output: tuple[str, str, list[int | str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    onnx = pytest.importorskip("onnx")
    values = [("x", "FLOAT", [2, 4]), ("y", "FLOAT", [2, 4]), output]
    x, *outputs = (onnx.helper.make_tensor_value_info(n, getattr(onnx.TensorProto, t), s) for n, t, s in values)
    made = [onnx.helper.make_node(kind, fed, [gives], **attributes) for kind, fed, gives, attributes in nodes]
    constants = [onnx.numpy_helper.from_array(np.array([i]), name) for i, name in enumerate(["zero", "one"])]
    graph = onnx.helper.make_graph(made, "net", [x], outputs, constants)
    monkeypatch.chdir(tmp_path)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
    case = Case(workload="net.onnx", compiler="onnxruntime", batch_size=2)
    artifact = OnnxFile().export(case, tmp_path)
    with closing(OnnxRuntime().load(artifact, CPU, tmp_path)) as model:
        found = model.outputs()
    assert verify(found, artifact.reference(), "fp32").agrees
    assert [array.dtype for array in found] == [array.dtype for array in artifact.reference()]


def test_facts_show_threads_and_provider(load: Load) -> None:
    facts = load(CASE).facts
    assert facts["provider"] == "CPUExecutionProvider"
    known = hasattr(ort.InferenceSession, "get_provider_graph_assignment_info")
    assert facts["nodes"].startswith(
        "CPUExecutionProvider 100.0 % of " if known else "unknown before ONNX Runtime 1.24"
    )
    assert facts["distribution"]
    assert facts["threads"] == str(CPU.threads)


def test_a_graph_that_runs_elsewhere_in_part_fails_where_that_is_not_allowed(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    strict = Case.from_dict(CASE.to_dict() | {"compiler": "onnxruntime:fallback=false"})
    placed = [SimpleNamespace(ep_name="CPUExecutionProvider", get_nodes=lambda: [1] * 39)]
    monkeypatch.setattr(
        ort.InferenceSession, "get_provider_graph_assignment_info", lambda session: placed, raising=False
    )
    assert load(strict).facts["provider"] == "CPUExecutionProvider"  # which runs all of it
    placed.append(SimpleNamespace(ep_name="OtherExecutionProvider", get_nodes=lambda: [1]))
    share = "CPUExecutionProvider 97.5 %, OtherExecutionProvider 2.5 % of 40 nodes"
    facts = load(CASE).facts
    assert facts["nodes"] == share
    assert facts["caveat"] == f"runs on {share}"
    with pytest.raises(NgraphError, match=f"CPUExecutionProvider does not run the whole graph: {share}") as raised:
        load(strict)
    assert not isinstance(raised.value, Unsupported)  # which would skip
    monkeypatch.setattr(ort.InferenceSession, "get_provider_graph_assignment_info", None)  # an earlier version
    assert load(CASE).facts["nodes"] == "unknown before ONNX Runtime 1.24"
    with pytest.raises(Unsupported, match=r"fallback=false needs ONNX Runtime 1\.24"):
        load(strict)


def test_a_provider_for_another_kind_of_device_is_refused(exported: Export, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="provider=cuda does not run on a device of kind cpu"):
        OnnxRuntime(provider="cuda").compile(exported(CASE), CPU, tmp_path)


def test_streams_share_one_session_of_one_thread(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[Any] = []
    make = ort.InferenceSession

    def keep(*arguments: Any, **options: Any) -> Any:
        sessions.append(make(*arguments, **options))
        return sessions[-1]

    monkeypatch.setattr(ort, "InferenceSession", keep)
    OnnxRuntime().compile(exported(CASE), THROUGHPUT, tmp_path)
    model = OnnxRuntime().load(exported(CASE), THROUGHPUT, tmp_path)
    (session,) = sessions
    assert session.get_session_options().intra_op_num_threads == 1
    assert model.facts["threads"] == model.facts["streams"] == str(THROUGHPUT.threads)
    model.close()


def test_streams_of_a_provider_with_its_own_threads_are_refused(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ort, "get_available_providers", lambda: list(PROVIDERS.values()))
    with pytest.raises(Unsupported, match="provider=dnnl has threads of its own"):
        OnnxRuntime(provider="dnnl").compile(exported(CASE), THROUGHPUT, tmp_path)


def test_a_provider_that_the_build_lacks_is_refused(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CPUExecutionProvider"])
    monkeypatch.setattr(onnx_distributions, "installed", lambda: {"onnxruntime": "1.24.1"})
    with pytest.raises(Unsupported, match="lacks DnnlExecutionProvider; it has CPUExecutionProvider"):
        OnnxRuntime(provider="dnnl").compile(exported(CASE), CPU, tmp_path)
    instead = r'pip uninstall -y onnxruntime, then pip install "pytest-ngraph\[onnxruntime-gpu\]"'
    with pytest.raises(Unsupported, match=instead):
        OnnxRuntime(provider="cuda").compile(exported(CASE), Target(kind="cuda"), tmp_path)


def test_falling_back_to_the_cpu_is_refused(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX Runtime itself only warns when a provider's libraries cannot be loaded."""
    OnnxRuntime().compile(exported(CASE), CPU, tmp_path)
    monkeypatch.setattr(ort, "get_available_providers", lambda: list(PROVIDERS.values()))
    monkeypatch.setitem(PROVIDERS, "dnnl", "CPUExecutionProvider")
    session = OnnxRuntime(provider="dnnl")._session(exported(CASE), tmp_path / "model.onnx", CPU, tmp_path)
    monkeypatch.setitem(PROVIDERS, "dnnl", "DnnlExecutionProvider")
    monkeypatch.setattr(ort, "InferenceSession", lambda *arguments, **options: session)
    with pytest.raises(Unsupported, match="could not load DnnlExecutionProvider and fell back to CPUExecutionProvider"):
        OnnxRuntime(provider="dnnl").load(exported(CASE), CPU, tmp_path)


@pytest.mark.parametrize(
    ("provider", "first", "others"),
    [("cuda", "CUDAExecutionProvider", []), ("tensorrt", "TensorrtExecutionProvider", ["CUDAExecutionProvider"])],
)
def test_gpu_providers_compute_on_our_stream(
    provider: str, first: str, others: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        cuda_stream = 7

    monkeypatch.setattr(cuda, "own_stream", Stream)
    named: list[tuple[str, dict[str, Any]]] = list(_providers(provider, Target(kind="cuda"), tmp_path))
    assert [name for name, _ in named] == [first, *others]
    assert all(options["user_compute_stream"] == "7" for _, options in named)
    on_cuda = named[-1][1]
    assert (on_cuda["use_tf32"], on_cuda["cudnn_conv_algo_search"], on_cuda["enable_cuda_graph"]) == (
        "0",
        "EXHAUSTIVE",
        "0",
    )
    if provider == "tensorrt":
        assert named[0][1]["trt_engine_cache_path"] == str(tmp_path)
        times = Path(named[0][1]["trt_timing_cache_path"])
        assert times.is_dir()
        assert not times.is_relative_to(tmp_path), "the times are for every model"
        assert (named[0][1]["trt_timing_cache_enable"], named[0][1]["trt_cuda_graph_enable"]) == ("1", "0")


def test_element_types_are_those_of_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    ours = {"float32": "FLOAT", "float64": "DOUBLE"}
    for name, number in ELEMENT_TYPES.items():
        assert onnx.TensorProto.DataType.Value(ours.get(name, name.upper())) == number


def test_a_missing_library_is_named(exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(Unsupported, match=r"pip install --force-reinstall --no-deps onnxruntime"):
        OnnxRuntime().compile(exported(CASE), CPU, tmp_path)
