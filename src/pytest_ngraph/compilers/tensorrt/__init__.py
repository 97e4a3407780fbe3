"""TensorRT and TensorRT-RTX, whose plans are built ahead of time for many GPUs and finished on the GPU that runs them.

They are two compilers, because their results must not be mixed. They share one code path, limited to what TensorRT 10.3
(JetPack 6) to 11 and TensorRT-RTX have in common. In: an artifact, written as ONNX. Out: a serialized engine (the
"plan") in the folder, and from it a `TensorRtModel`. Read this file first, then `network.py` (building) and `model.py`
(running).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.compilers import CompiledModel, program
from pytest_ngraph.compilers.onnx_export import origins_of, real, write_onnx
from pytest_ngraph.compilers.profiling import ProfiledModel, compiling_again
from pytest_ngraph.compilers.profiling.tensorrt import ProfiledPlan
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import tensorrt as serving
from pytest_ngraph.compilers.tensorrt import timing_cache
from pytest_ngraph.compilers.tensorrt.library import Library, library
from pytest_ngraph.compilers.tensorrt.model import ELEMENT_TYPES, Buffers, TensorRtModel
from pytest_ngraph.compilers.tensorrt.network import Network
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads.nodes import nodes

Level = Literal[0, 1, 2, 3, 4, 5]
Capability = Literal["any", "current", "75", "80", "86", "89", "120", "121"]

ONNX = "model.onnx"
PLAN = "model.plan"
BINDINGS = "bindings.json"


@dataclass(frozen=True)
class TensorRt:
    """TensorRT, built for the GPU of this machine.

    Attributes:
        level: how long the builder searches for fast kernels.
        graph: replay each call as a CUDA graph.
    """

    level: Level = 3
    graph: bool = False

    libraries: ClassVar[tuple[str, ...]] = ("tensorrt", "onnx", "onnxscript")
    kinds: ClassVar[tuple[Kind, ...]] = ("cuda",)
    searches: ClassVar[bool] = True
    install_hint: ClassVar[str] = (
        "Its packages fetch NVIDIA's libraries from NVIDIA's own index, which must be reachable. On a Jetson, "
        "TensorRT comes with JetPack: use an environment created with --system-site-packages."
    )

    def for_priming(self) -> TensorRt:
        return self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return CUDA graphs, and the longest search for kernels."""
        return {"graph=true": 1.0, "graph=true,level=5": 4.0}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the plan, which runs only with this version on this GPU.

        A build for a draw of its own times every kernel itself, and leaves the times of other builds as they are.
        """
        lib = library("tensorrt")
        times = timing_cache.path(lib, _gpu(lib))
        network, is_warm = self._network(lib, _onnx(artifact, folder), target, times)
        _build(network, folder, level=str(self.level), timing_cache="warm" if is_warm else "cold")
        if not target.draw:
            timing_cache.save(lib, network.config, times)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        return _load(library("tensorrt"), artifact, target, folder, graph=self.graph)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Build the plan once more, in detail. By the times of the earlier build, it gets the same kernels."""
        lib = library("tensorrt")
        times = timing_cache.path(lib, _gpu(lib))
        network, _ = self._network(lib, _known_onnx(artifact, compiled), target, times)
        return _instrument(lib, network, artifact, compiled)

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        return _deploy("tensorrt", artifact, compiled, folder)

    def _network(self, lib: Library, onnx: Path, target: Target, times: Path) -> tuple[Network, bool]:
        """Return the network with how it is built, and whether times of earlier builds choose its kernels."""
        network = Network(lib, onnx)
        network.config.builder_optimization_level = self.level
        return network, not target.draw and timing_cache.restore(lib, network.config, times)


@dataclass(frozen=True)
class TensorRtRtx:
    """TensorRT-RTX.

    Attributes:
        capability: GPUs that the plan is for; `any` GPU that TensorRT-RTX knows, the `current` one, or a compute
            capability (`86`), for which a plan can be built without a GPU.
        graph: replay each call as a CUDA graph.
    """

    capability: Capability = "any"
    graph: bool = False

    libraries: ClassVar[tuple[str, ...]] = ("tensorrt_rtx", "onnx", "onnxscript")
    kinds: ClassVar[tuple[Kind, ...]] = ("cuda",)

    def for_priming(self) -> TensorRtRtx:
        return self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return CUDA graphs."""
        return {"graph=true": 1.0}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Write the plan. No timing cache is used: loading the plan compiles kernels instead of racing them."""
        _build(self._network(_onnx(artifact, folder)), folder, capability=self.capability)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        return _load(library("tensorrt_rtx"), artifact, target, folder, graph=self.graph)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Build the plan once more, in detail."""
        network = self._network(_known_onnx(artifact, compiled))
        return _instrument(library("tensorrt_rtx"), network, artifact, compiled)

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        return _deploy("tensorrt_rtx", artifact, compiled, folder)

    def _network(self, onnx: Path) -> Network:
        """Return the network with the GPUs that it is built for."""
        lib = library("tensorrt_rtx")
        network = Network(lib, onnx)
        if self.capability != "any":
            name = "CURRENT" if self.capability == "current" else f"SM{self.capability}"
            network.config.num_compute_capabilities = 1
            lib.require(
                network.config.set_compute_capability(getattr(lib.module.ComputeCapability, name), 0),
                f"build for capability={self.capability}",
            )
        return network


def _gpu(lib: Library) -> str:
    """Return the name of this machine's GPU. Raises `NgraphError` where there is none."""
    import torch

    if not torch.cuda.is_available():
        raise NgraphError(
            f"{lib.name} needs an NVIDIA GPU and PyTorch {torch.__version__} finds none. Check that nvidia-smi "
            f"lists one and that this PyTorch is built for CUDA."
        )
    return torch.cuda.get_device_name()


def _onnx(artifact: Artifact, folder: Path) -> Path:
    """Return the artifact's ONNX file, or else write its program as one into `folder`."""
    if program.onnx_file(artifact, "TensorRT") is None:
        write_onnx(artifact, folder / ONNX)
    return _known_onnx(artifact, folder)


def _known_onnx(artifact: Artifact, compiled: Path) -> Path:
    """Return the ONNX file that what was compiled was built from."""
    return artifact.onnx or compiled / ONNX


def _build(network: Network, folder: Path, **facts: str) -> None:
    """Write for `_load` the plan, the names of inputs and outputs, and the facts that only the build knows."""
    (folder / PLAN).write_bytes(network.build())
    bindings = {"inputs": network.inputs, "outputs": network.outputs, "facts": facts}
    (folder / BINDINGS).write_text(json.dumps(bindings))


def _load(lib: Library, artifact: Artifact, target: Target, folder: Path, *, graph: bool) -> TensorRtModel:
    gpu = _gpu(lib)
    bindings = json.loads((folder / BINDINGS).read_text())
    facts = {
        "version": lib.version,
        "precision": target.precision,
        "provider": gpu,
        "graph": str(graph),
        "cuda_graphs": "replayed" if graph else "off",
        "tf32": "False",  # by NVIDIA_TF32_OVERRIDE, which every worker has
        **bindings["facts"],
    }
    plan, inputs = (folder / PLAN).read_bytes(), _inputs(artifact, bindings)
    return TensorRtModel(lib, plan, inputs, bindings["outputs"], graph=graph, facts=facts)


def _instrument(lib: Library, network: Network, artifact: Artifact, compiled: Path) -> ProfiledModel:
    """Build a network in detail, and return what profiles it: without CUDA graphs, whose replays report nothing."""
    import onnx

    bindings = json.loads((compiled / BINDINGS).read_text())
    with compiling_again():
        plan = bytes(network.build(detailed=True))
    inputs = _inputs(artifact, bindings)
    model = TensorRtModel(lib, plan, inputs, bindings["outputs"], graph=False, facts={})
    graph = onnx.load(_known_onnx(artifact, compiled), load_external_data=False).graph
    return ProfiledPlan(lib, model, origins_of(graph, noted=artifact.onnx is None), nodes(artifact))


def _inputs(artifact: Artifact, bindings: Mapping[str, Sequence[str]]) -> Buffers:
    return dict(zip(bindings["inputs"], real(program.inputs(artifact, "cuda")), strict=True))


def _deploy(module: str, artifact: Artifact, compiled: Path, folder: Path) -> Serving:
    if any(array.dtype.kind == "c" for array in (*artifact.inputs(), *artifact.reference())):
        raise Unsupported(
            f"{module} cannot deploy {artifact.case.workload}, which takes or gives complex numbers: the plan has them "
            "as pairs of real ones. Deploy it with onnxruntime."
        )
    bindings = json.loads((compiled / BINDINGS).read_text())
    inputs, outputs = bindings["inputs"], bindings["outputs"]
    return serving.deploy(module, compiled / PLAN, folder, inputs=inputs, outputs=outputs, types=ELEMENT_TYPES)
