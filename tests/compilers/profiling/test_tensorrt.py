"""TensorRT's layers are led back to the program by its engine inspector. Without a GPU, the library is replaced.

What it describes is as its documentation and its own explorer of engines show it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from compiled import Export

from pytest_ngraph.artifact import Array, Artifact, Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import tensorrt
from pytest_ngraph.compilers.onnx_export import origins_of, write_onnx
from pytest_ngraph.compilers.profiling.tensorrt import ProfiledPlan, profiler
from pytest_ngraph.compilers.progress import reporting_to
from pytest_ngraph.compilers.tensorrt import BINDINGS, ONNX, TensorRt, TensorRtRtx
from pytest_ngraph.compilers.tensorrt.library import Library, library
from pytest_ngraph.compilers.tensorrt.model import TensorRtModel
from pytest_ngraph.compilers.tensorrt.network import Network
from pytest_ngraph.explain.profile import Kernel
from pytest_ngraph.workloads.nodes import nodes

CONV = Case(workload="conv", compiler="tensorrt", batch_size=1, depth=2, width=8)
GPU = Target(kind="cuda")
FUSED = "\x1f"
"""What stands between the nodes that went into one layer."""


class Profiler:
    """TensorRT's base class, whose initializer has to be called by hand."""

    def __init__(self) -> None:
        self.is_begun = True


class Module:
    """What of the library's module a profile uses."""

    IProfiler = Profiler
    LayerInformationFormat = SimpleNamespace(JSON="json")
    ProfilingVerbosity = SimpleNamespace(DETAILED="detailed")


class Model:
    """A model with these layers. Each call takes 2 ms a layer, the first one 100 ms."""

    def __init__(self, layers: Sequence[Mapping[str, Any]]) -> None:
        self.described = [*layers]
        self.is_closed = False
        self._profiler: Any = None
        self._next_ms = 100.0

    def layers(self) -> Sequence[Mapping[str, Any]]:
        return self.described

    def report_to(self, profiler: Any) -> None:
        assert profiler.is_begun
        self._profiler = profiler

    def __call__(self) -> None:
        for layer in self.described if self._profiler else ():
            self._profiler.report_layer_time(layer["Name"], self._next_ms)
        self._next_ms = 2.0

    def outputs(self) -> Sequence[Array]:
        self()
        return []

    def close(self) -> None:
        self.is_closed = True


def layer(name: str, kind: str, reads: str, made: str, of: Sequence[str] = (), tactic: str = "") -> dict[str, Any]:
    return {
        "Name": name,
        "LayerType": kind,
        "Inputs": [{"Name": reads, "Dimensions": [1], "Format/Datatype": "Row major linear FP32"}],
        "Outputs": [{"Name": made, "Dimensions": [1], "Format/Datatype": "Row major linear FP32"}],
        "TacticName": tactic,
        "Metadata": FUSED.join(f"[ONNX Layer: {each}]" for each in of),
    }


def engine(graph: Any) -> Iterator[dict[str, Any]]:
    """Yield the layers of an engine in which each convolution is fused with the activation behind it."""
    yield layer("Reformatting CopyNode for Input Tensor 0", "Reformat", "x", "value0")
    convolutions = [node for node in graph.node if node.op_type == "Conv"]
    for number, node in enumerate(convolutions):
        behind = [each.name for each in graph.node if node.output[0] in each.input and each.op_type == "Relu"]
        parts = [node.name, *behind]
        yield layer(
            " + ".join(parts), "CaskConvolution", f"value{number}", f"value{number + 1}", parts, "sm80_xmma_fprop"
        )


@pytest.fixture
def artifact(exported: Export) -> Artifact:
    return exported(CONV)


@pytest.fixture
def graph(artifact: Artifact, tmp_path: Path) -> Any:
    import onnx

    write_onnx(artifact, tmp_path / ONNX)
    return onnx.load(tmp_path / ONNX, load_external_data=False).graph


@pytest.fixture
def kernels(artifact: Artifact, graph: Any) -> Sequence[Kernel]:
    """Those of an engine of the program, of three calls."""
    plan = ProfiledPlan(
        cast("Library", SimpleNamespace(module=Module)),
        cast("TensorRtModel", Model([*engine(graph)])),
        origins_of(graph, noted=True),
        nodes(artifact),
    )
    return plan.profile(calls=3)


def test_a_layer_has_the_operations_of_the_program_that_went_into_it(
    artifact: Artifact, kernels: Sequence[Kernel]
) -> None:
    by_name = {node.name: node for node in nodes(artifact)}
    fused = [[by_name[name].operator for name in kernel.nodes] for kernel in kernels if not kernel.layout]
    assert fused == [["conv2d"], *[["conv2d", "batch_norm", "relu"]] * 2]
    paths = [{by_name[name].module.partition(".")[0] for name in kernel.nodes} for kernel in kernels if kernel.nodes]
    assert paths == [{"0"}, {"1"}, {"2"}]


def test_what_only_changes_the_layout_is_said_to(kernels: Sequence[Kernel]) -> None:
    first, *others = kernels
    assert (first.operator, first.layout, first.nodes) == ("Reformat", True, ())
    assert not any(kernel.layout for kernel in others)


def test_seconds_are_those_of_a_call_when_the_model_is_warm(kernels: Sequence[Kernel]) -> None:
    assert [kernel.seconds for kernel in kernels] == pytest.approx([0.002] * 4)
    assert {kernel.kind for kernel in kernels[1:]} == {"sm80_xmma_fprop"}


def test_a_layer_that_the_inspector_does_not_know_still_counts(artifact: Artifact) -> None:
    class Unknown(Model):
        def layers(self) -> Sequence[Mapping[str, Any]]:
            return []

    model = Unknown([layer("mystery", "kgen", "x", "y")])
    lib = cast("Library", SimpleNamespace(module=Module))
    plan = ProfiledPlan(lib, cast("TensorRtModel", model), {}, nodes(artifact))
    assert [(kernel.name, kernel.seconds, kernel.nodes) for kernel in plan.profile(calls=2)] == [("mystery", 0.002, ())]
    plan.close()
    assert model.is_closed


def test_a_model_describes_its_layers_and_reports_their_times() -> None:
    described = {"Layers": [layer("one", "gemm", "x", "y"), "only a name"], "I/O Tensors": []}
    inspector = SimpleNamespace(get_engine_information=lambda how: json.dumps(described) if how == "json" else "")
    model = TensorRtModel.__new__(TensorRtModel)
    model._library = cast("Library", SimpleNamespace(module=Module))
    model._engine = SimpleNamespace(create_engine_inspector=lambda: inspector)
    model._context = SimpleNamespace(profiler=None)
    assert model.layers() == described["Layers"][:1]
    model.report_to("the profiler")
    assert model._context.profiler == "the profiler"


class Build:
    """A network whose build notes how it was made."""

    made: ClassVar[list[Build]] = []

    def __init__(self, lib: object, onnx: Path) -> None:
        self.file = onnx
        self.config = SimpleNamespace()
        self.made.append(self)

    def build(self, *, detailed: bool) -> bytes:
        assert detailed
        return b"a plan"


@pytest.mark.parametrize("compiler", [TensorRt(level=5, graph=True), TensorRtRtx(graph=True)])
def test_a_plan_is_built_again_in_detail_from_the_file_of_the_measured_one(
    compiler: TensorRt | TensorRtRtx, artifact: Artifact, graph: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / BINDINGS).write_text(json.dumps({"inputs": ["x"], "outputs": ["y"], "facts": {}}))
    restored, loaded = [], []

    def model(lib: object, plan: bytes, inputs: object, outputs: object, **how: object) -> Model:
        loaded.append((plan, inputs, outputs, how["graph"]))
        return Model([*engine(graph)])

    def restore(lib: object, config: object, file: Path) -> bool:
        restored.append(file)
        return True

    monkeypatch.setattr(tensorrt, "library", lambda name: SimpleNamespace(module=Module, name=name, version="11"))
    monkeypatch.setattr(tensorrt, "Network", Build)
    monkeypatch.setattr(tensorrt, "TensorRtModel", model)
    monkeypatch.setattr(tensorrt, "_gpu", lambda lib: "a GPU")
    monkeypatch.setattr(tensorrt, "_inputs", lambda artifact, bindings: bindings["inputs"])
    monkeypatch.setattr(tensorrt.timing_cache, "restore", restore)
    reports: list[str] = []
    with reporting_to(reports.append):
        profiled = compiler.instrument(artifact, GPU, tmp_path)
    assert reports == ["compiling once more, to profile it", "profiling what was compiled"]
    assert loaded == [(b"a plan", ["x"], ["y"], False)]
    assert Build.made[-1].file == tmp_path / ONNX
    assert len(restored) == isinstance(compiler, TensorRt)
    assert len(profiled.profile(calls=1)) == 4


def test_the_library_has_what_a_profile_uses(artifact: Artifact, graph: Any, tmp_path: Path) -> None:
    """TensorRT-RTX builds without a GPU, and has the interface of TensorRT."""
    pytest.importorskip("tensorrt_rtx")
    lib, spent = library("tensorrt_rtx"), defaultdict[str, float](float)
    network = Network(lib, tmp_path / ONNX)
    assert len(network.build(detailed=True)) > 0
    assert network.config.profiling_verbosity == lib.module.ProfilingVerbosity.DETAILED
    reporting = profiler(lib, spent)
    for _ in range(2):
        reporting.report_layer_time("node_conv2d", 1.5)
    assert spent == {"node_conv2d": 3.0}
    assert hasattr(lib.module.IExecutionContext, "profiler")
    assert hasattr(lib.module.ICudaEngine, "create_engine_inspector")
