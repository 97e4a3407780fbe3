"""OpenVINO: the exported program (or ONNX file), converted to its intermediate representation and compiled.

In: an artifact. Out: the representation in the folder, and from it a model whose requests run. This file holds the
compiler and its options; `conversion.py` converts, `model.py` has the models, and `gpu.py` knows GPUs by index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, kinds, program, pytorch, refuse_precision, threads
from pytest_ngraph.compilers.conversion import converting
from pytest_ngraph.compilers.openvino import gpu
from pytest_ngraph.compilers.openvino.conversion import convert, names_beside
from pytest_ngraph.compilers.openvino.model import OpenVinoModel, OpenVinoQueue, share
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import openvino as profiling
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import openvino as serving
from pytest_ngraph.errors import NgraphError, Unsupported
from pytest_ngraph.workloads.nodes import nodes

Device = Literal["kind", "CPU", "GPU", "GPU.0", "GPU.1", "GPU.2", "GPU.3", "NPU", "AUTO"]
FILE = "model.xml"
TRACED = "traced.txt"
"""Exists where the representation was made from a trace."""
PRECISIONS = {"fp32": "f32", "fp16": "f16", "bf16": "bf16"}


@dataclass(frozen=True)
class OpenVino:
    """OpenVINO on one of its devices.

    Attributes:
        graph: what is converted: the module, its exported program, or (`auto`) the module only where `torch.export`
            refuses it. Of a module, and of a program that it cannot convert, OpenVINO gets a trace, which holds only
            what was done for these inputs: then the fact `source` is `trace`.
        streams: inferences that run side by side; 0 leaves the number to OpenVINO's hint for the objective.
        device: OpenVINO's name of the device; `kind` is that of the device's profile. `AUTO` lets OpenVINO choose, and
            the fact `provider` shows its choice.
    """

    streams: int = 0
    device: Device = "kind"
    graph: pytorch.Graph = "auto"

    libraries: ClassVar[tuple[str, ...]] = ("openvino",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "xpu", "npu")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it converts the module itself."""
        return pytorch.is_module(self.graph, artifact)

    def for_priming(self) -> OpenVino:
        return self

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return numbers of streams, for throughput: one call at a time uses a single stream."""
        if target.objective == "latency":
            return {}
        numbers = dict.fromkeys((1, max(1, target.threads // 2), target.threads, 2 * target.threads))
        return {f"streams={number}": 1.0 for number in numbers}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        # OpenVINO counts the cores that it may use once per process, at its first use: here or in `load`.
        with threads.spread(target), converting():
            if convert(artifact, target, folder / FILE, is_module=self.runs_module(artifact)):
                (folder / TRACED).touch()

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        inputs = program.inputs(artifact)
        with threads.spread(target):
            compiled = self._compiled(folder / FILE, target)
            kind = OpenVinoQueue if target.objective == "throughput" else OpenVinoModel
            source = {"source": "trace"} if (folder / TRACED).exists() else {}
            model = kind(compiled, inputs, artifact, target, self._facts(compiled, target) | source)
            model.outputs()  # the first run creates the threads, and binds them to the cores allowed at that time
            return model

    def _compiled(self, path: Path, target: Target, **properties: object) -> Any:
        import openvino

        core = openvino.Core()
        device = self._device(target, core)
        _refuse_device(device, core.available_devices)
        refuse_precision("openvino", target, self._precisions(core, device))
        return core.compile_model(path, device, self._properties(target, core) | properties)

    def _device(self, target: Target, core: Any) -> str:
        """Return OpenVINO's name of the device, such as `GPU.1`. Raise `Unsupported` for another kind's."""
        name = kinds.named(target.kind).openvino
        if self.device == "kind":
            if target.kind == "xpu":
                return gpu.of_index(core, target.index)
            return f"{name}.{target.index}" if target.index else name
        if target.kind != "cpu" and self.device.partition(".")[0] != name:
            raise Unsupported(f"openvino:device={self.device} is not of kind {target.kind}: leave it out")
        return self.device

    def _precisions(self, core: Any, device: str) -> tuple[str, ...]:
        """Return the precisions that the device computes in. Any other would silently become one of them."""
        capabilities = set(core.get_property(device, "OPTIMIZATION_CAPABILITIES"))
        return tuple(
            ours for ours, theirs in (("fp32", "FP32"), ("fp16", "FP16"), ("bf16", "BF16")) if theirs in capabilities
        )

    def _properties(self, target: Target, core: Any) -> dict[str, object]:
        if self.device != "AUTO":
            return self._properties_on(self._device(target, core), target)
        return {
            "DEVICE_PROPERTIES": {name: self._properties_on(name, target) for name in core.available_devices},
            "PERFORMANCE_HINT": target.objective.upper(),
            # Neither start on the CPU while the chosen device loads, nor switch to another device when it fails.
            "ENABLE_STARTUP_FALLBACK": False,
            "ENABLE_RUNTIME_FALLBACK": False,
        }

    def _properties_on(self, device: str, target: Target) -> dict[str, object]:
        # By default OpenVINO computes in bf16 where the processor can, at twice the speed and with errors of 1e-3.
        properties: dict[str, object] = {
            "INFERENCE_PRECISION_HINT": PRECISIONS[target.precision],
            "PERFORMANCE_HINT": target.objective.upper(),
        }
        if self.streams:
            properties["NUM_STREAMS"] = self.streams
        if device == "CPU":
            properties |= {"INFERENCE_NUM_THREADS": target.threads, "ENABLE_CPU_PINNING": threads.is_bound()}
        return properties

    def _facts(self, compiled: Any, target: Target) -> dict[str, str]:
        """Return the compiled model's facts. Raises `NgraphError` where its precision is not the target's."""
        import openvino

        (device,) = compiled.get_property("EXECUTION_DEVICES")
        # AUTO itself does not report a model's properties; the device that it chose does.
        on_auto = self.device == "AUTO"
        ask = compiled.get_property("DEVICE_PROPERTIES")[device].get if on_auto else compiled.get_property
        precision = ask("INFERENCE_PRECISION_HINT").get_type_name()
        if precision != PRECISIONS[target.precision]:
            raise NgraphError(f"openvino was asked to run {target.precision} on {device}, but runs {precision}.")
        facts = {
            "version": openvino.__version__.partition("-")[0],
            "precision": target.precision,
            "provider": device,
            "streams": str(ask("NUM_STREAMS")),
        }
        if device == "CPU":
            facts["threads"] = str(ask("INFERENCE_NUM_THREADS"))
            facts["pinned"] = str(ask("ENABLE_CPU_PINNING"))
        if device.startswith("GPU"):
            facts["gpu"] = gpu.name(openvino.Core(), device)
        return facts

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        import openvino

        model, core = self._compiled(compiled / FILE, target), openvino.Core()
        return serving.deploy(
            target,
            compiled / FILE,
            folder,
            device=self._device(target, core),
            properties=self._properties(target, core),
            requests=model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"),
        )

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return a request that counts. Raise `Unsupported` for devices other than the CPU, which count otherwise."""
        import openvino

        if (device := self._device(target, openvino.Core())) != "CPU":
            raise Unsupported(f"openvino:device={device} cannot be profiled: only CPU can")
        if self.runs_module(artifact):
            raise Unsupported("openvino can be profiled where it converts the exported program, not a module")
        operations, inputs = nodes(artifact), program.inputs(artifact)
        with threads.spread(target):
            model = self._compiled(compiled / FILE, target, PERF_COUNT=True)
            request = model.create_infer_request()
            request.set_input_tensors(dict(enumerate(map(share, inputs))))
            names = profiling.sources(artifact, names_beside(compiled / FILE))
            return profiling.ProfiledRequest(request, inputs, model.get_runtime_model(), names, operations)


def _refuse_device(device: str, available: Sequence[str]) -> None:
    # Several devices of a kind are named GPU.0, GPU.1; GPU is the first.
    if device not in {"AUTO", *available, *(name.partition(".")[0] for name in available)}:
        raise Unsupported(f"openvino finds no {device} here; it finds {', '.join(available)}")
