"""TensorRT and TensorRT-RTX. Only RTX parses and builds without a GPU, so it stands in for the code that both share."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import MagicMock

import pytest
import torch
from compiled import Export

from pytest_ngraph import compilers
from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program
from pytest_ngraph.compilers.tensorrt import BINDINGS, PLAN, TensorRt, TensorRtRtx, _load, timing_cache
from pytest_ngraph.compilers.tensorrt.library import Library, library
from pytest_ngraph.compilers.tensorrt.model import TensorRtModel
from pytest_ngraph.compilers.tensorrt.network import Network
from pytest_ngraph.errors import NgraphError, Unsupported, UsageError
from pytest_ngraph.workloads.verify import verify

MODULE = "pytest_ngraph.compilers.tensorrt"
CONV = Case(workload="conv", compiler="tensorrt_rtx", batch_size=1, depth=2, width=8)
RESNET = Case(workload="resnet18", compiler="tensorrt_rtx", batch_size=1)
OF_COMPLEX = Case(workload="complex_nets:of_complex", compiler="tensorrt", batch_size=2)
GPU = Target(kind="cuda")

rtx_only = pytest.mark.skipif(
    find_spec("tensorrt_rtx") is None, reason="needs TensorRT-RTX: pip install tensorrt-rtx-cu13"
)
without_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="shows what happens without a GPU")


@pytest.fixture
def rtx() -> Library:
    pytest.importorskip("tensorrt_rtx")
    return library("tensorrt_rtx")


@pytest.fixture
def network(rtx: Library, exported: Export, tmp_path: Path) -> Network:
    """A parsed network, not yet built."""
    TensorRtRtx().compile(exported(CONV), GPU, tmp_path)
    return Network(rtx, tmp_path / "model.onnx")


@rtx_only
@pytest.mark.parametrize("case", [CONV, RESNET], ids=lambda case: case.group_label)
@pytest.mark.parametrize("capability", ["any", "86"])
def test_a_plan_is_built_without_a_gpu(case: Case, capability: str, exported: Export, tmp_path: Path) -> None:
    compiler = compilers.resolve(f"{MODULE}:TensorRtRtx:capability={capability}")
    compiler.compile(exported(case), GPU, tmp_path)
    assert (tmp_path / "model.plan").stat().st_size > 10_000
    bindings = json.loads((tmp_path / "bindings.json").read_text())
    assert len(bindings["inputs"]) == len(exported(case).inputs())
    assert len(bindings["outputs"]) == len(exported(case).reference())
    assert bindings["facts"] == {"capability": capability}


@rtx_only
@pytest.mark.parametrize(("precision", "element_type"), [("fp32", "FLOAT"), ("fp16", "HALF"), ("bf16", "BF16")])
def test_the_network_has_the_types_of_the_case(
    precision: str, element_type: str, rtx: Library, exported: Export, tmp_path: Path
) -> None:
    artifact = exported(Case.from_dict(CONV.to_dict() | {"precision": precision}))
    TensorRtRtx().compile(artifact, GPU, tmp_path)
    network = Network(rtx, tmp_path / "model.onnx")
    types = {network._network.get_input(0).dtype.name, network._network.get_output(0).dtype.name}
    assert types == {element_type}


def test_fp32_is_not_computed_as_tf32(rtx: Library, network: Network) -> None:
    assert not network.config.get_flag(rtx.module.BuilderFlag.TF32)


@rtx_only
def test_an_operator_that_it_lacks_is_named(exported: Export, tmp_path: Path) -> None:
    case = Case(workload="unusual:spectrum", compiler="tensorrt_rtx", batch_size=2)
    with pytest.raises(Unsupported, match=r"tensorrt_rtx \S+ cannot parse model\.onnx: operator DFT \(node \S+DFT"):
        TensorRtRtx().compile(exported(case), GPU, tmp_path)


@rtx_only
def test_an_operator_that_onnx_lacks_is_named(exported: Export, tmp_path: Path) -> None:
    case = Case(workload="unusual:inverse", compiler="tensorrt_rtx", batch_size=2)
    with pytest.raises(Unsupported, match=r"torch\.onnx cannot export .*: No ONNX function found for .*linalg_inv_ex"):
        TensorRtRtx().compile(exported(case), GPU, tmp_path)


def test_a_file_that_is_no_onnx_fails_and_does_not_skip(rtx: Library, tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no graph")
    with pytest.raises(NgraphError, match=r"tensorrt_rtx \S+ cannot parse net\.onnx: \S+") as failure:
        Network(rtx, tmp_path / "net.onnx")
    assert not isinstance(failure.value, Unsupported)


@rtx_only
@without_gpu
def test_a_failed_build_shows_what_was_logged(exported: Export, tmp_path: Path) -> None:
    with pytest.raises(NgraphError, match=r"could not build model\.onnx: .*[Cc]uda"):
        TensorRtRtx(capability="current").compile(exported(CONV), GPU, tmp_path)


@rtx_only
@without_gpu
def test_loading_needs_a_gpu(exported: Export, tmp_path: Path) -> None:
    TensorRtRtx().compile(exported(CONV), GPU, tmp_path)
    with pytest.raises(NgraphError, match=r"tensorrt_rtx needs an NVIDIA GPU and PyTorch \S+ finds none"):
        TensorRtRtx().load(exported(CONV), GPU, tmp_path)


@without_gpu
def test_a_plan_that_cannot_be_loaded_shows_what_was_logged(rtx: Library, network: Network) -> None:
    plan = bytes(network.build())
    with pytest.raises(NgraphError, match=r"tensorrt_rtx \S+ could not load the plan: .*[Cc]uda"):
        TensorRtModel(rtx, plan, {}, [], graph=False, facts={})


@pytest.mark.filterwarnings("ignore:Use Deprecated in TensorRT-RTX:DeprecationWarning")
class TestTimingCache:
    """TensorRT-RTX has the interface of a timing cache, but writes a file without times."""

    def test_is_written_and_used_again(self, rtx: Library, network: Network, tmp_path: Path) -> None:
        file = tmp_path / "cache" / "gpu.timing"
        assert not timing_cache.restore(rtx, network.config, file)
        network.build()
        timing_cache.save(rtx, network.config, file)
        assert file.stat().st_size > 0
        assert [entry.name for entry in file.parent.iterdir()] == ["gpu.timing"]
        assert timing_cache.restore(rtx, network.config, file)

    def test_starts_empty_where_the_file_is_refused(self, rtx: Library, tmp_path: Path) -> None:
        file = tmp_path / "gpu.timing"
        file.write_bytes(b"of another version")
        config = Refusing()
        assert not timing_cache.restore(rtx, config, file)
        assert config.given == [b"of another version", b""]

    def test_is_one_file_for_each_device_and_version(self, rtx: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
        path = timing_cache.path(rtx, "NVIDIA H200 (80 GB)")
        assert path.parent == Path("/cache/pytest-ngraph")
        assert path.name == f"tensorrt-rtx-{rtx.version}-NVIDIA-H200-80-GB-.timing"
        assert timing_cache.path(rtx, "Orin") != path


class Refusing:
    """A configuration that accepts only an empty timing cache."""

    def __init__(self) -> None:
        self.given: list[bytes] = []

    def create_timing_cache(self, data: bytes) -> bytes:
        self.given.append(data)
        return data

    def set_timing_cache(self, times: bytes, ignore_mismatch: bool) -> bool:
        return not times


def test_a_timing_cache_that_cannot_be_written_fails_no_build(tmp_path: Path) -> None:
    class Configuration:
        def get_timing_cache(self) -> Configuration:
            return self

        def serialize(self) -> bytes:
            return b"times"

    class Log:
        def require(self, result: object, step: str) -> object:
            return result

    in_the_way = tmp_path / "file"
    in_the_way.touch()
    timing_cache.save(cast("Library", Log()), Configuration(), in_the_way / "gpu.timing")
    assert [*tmp_path.iterdir()] == [in_the_way]


class OfFloats:
    """A library whose plans take 32-bit floats. It notes their shapes, and where they are in memory."""

    name, version, logger = "tensorrt", "11", None

    def __init__(self) -> None:
        self.module, self.placed = self, dict[str, tuple[tuple[int, ...], int]]()
        self._shape: tuple[int, ...] = ()

    def Runtime(self, logger: object) -> OfFloats:  # noqa: N802 (TensorRT's name)
        return self

    def deserialize_cuda_engine(self, plan: bytes) -> OfFloats:
        return self

    def create_execution_context(self) -> OfFloats:
        return self

    def get_tensor_dtype(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(name="FLOAT")

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        self._shape = shape
        return True

    def set_tensor_address(self, name: str, address: int) -> bool:
        self.placed[name] = self._shape, address
        return True

    def require(self, result: object, step: str) -> object:
        return result


def test_a_plan_takes_complex_inputs_as_pairs_of_real_numbers(
    exported: Export, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the exported graph does."""
    (given,) = program.inputs(exported(OF_COMPLEX))
    monkeypatch.setattr(f"{MODULE}._gpu", lambda _: "a GPU")
    monkeypatch.setattr(f"{MODULE}.program.inputs", lambda *_: (given,))
    monkeypatch.setattr(f"{MODULE}.model.cuda", MagicMock())
    (tmp_path / PLAN).touch()
    (tmp_path / BINDINGS).write_text(json.dumps({"inputs": ["z"], "outputs": [], "facts": {}}))
    lib = OfFloats()
    _load(cast("Library", lib), exported(OF_COMPLEX), GPU, tmp_path, graph=False)
    assert lib.placed == {"z": ((*given.shape, 2), given.data_ptr())}


@pytest.mark.parametrize("function", ["of_complex", "spectrum"])
def test_a_model_with_complex_numbers_cannot_be_deployed(function: str, exported: Export, tmp_path: Path) -> None:
    case = Case(workload=f"complex_nets:{function}", compiler="tensorrt", batch_size=2)
    with pytest.raises(Unsupported, match=f"^tensorrt cannot deploy complex_nets:{function}, .* with onnxruntime"):
        TensorRt().deploy(exported(case), GPU, tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("options", "allowed"),
    [("TensorRt:level=9", "0, 1, 2, 3, 4, 5"), ("TensorRtRtx:capability=90", "any, current, 75")],
)
def test_options_list_what_is_allowed(options: str, allowed: str) -> None:
    with pytest.raises(UsageError, match=f"is not allowed. Allowed: {allowed}"):
        compilers.resolve(f"{MODULE}:{options}")


def test_options_are_read_as_their_types() -> None:
    compiler: object = compilers.resolve(f"{MODULE}:TensorRt:graph=true,level=5")
    assert compiler == TensorRt(level=5, graph=True)


@pytest.mark.skipif(find_spec("tensorrt") is not None, reason="TensorRT is installed")
def test_a_missing_tensorrt_shows_how_to_install_it() -> None:
    reason = compilers.missing_library(f"{MODULE}:TensorRt")
    assert "needs tensorrt, which is not installed: pip install" in reason
    assert "NVIDIA's own index" in reason


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
@pytest.mark.parametrize("compiler", ["TensorRt", "TensorRtRtx"])
@pytest.mark.parametrize("graph", ["false", "true"])
def test_outputs_agree_with_eager_on_a_gpu(compiler: str, graph: str, exported: Export, tmp_path: Path) -> None:
    name = f"{MODULE}:{compiler}:graph={graph}"
    if compilers.missing_library(name):
        pytest.skip(compilers.missing_library(name))
    subject = compilers.resolve(name)
    subject.compile(exported(RESNET), GPU, tmp_path)
    model = subject.load(exported(RESNET), GPU, tmp_path)
    agreement = verify(model.outputs(), exported(RESNET).reference(), "fp32")
    assert agreement.agrees, agreement.problem
    model.stopwatch.start()
    model()
    assert model.stopwatch.stop() > 0
    model.close()
