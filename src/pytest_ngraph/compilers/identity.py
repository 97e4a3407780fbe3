"""Identity: eager PyTorch, uncompiled. The baseline of speedup and BSR."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_ngraph import workloads
from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, kinds, program, pytorch
from pytest_ngraph.compilers.profiling import ProfiledModel
from pytest_ngraph.compilers.profiling import pytorch as profiling
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving import pytorch as serving
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.workloads import Built
from pytest_ngraph.workloads.nodes import nodes

if TYPE_CHECKING:
    from pytest_ngraph.compilers.onnxruntime import OnnxRuntime

OUTPUT = re.compile(r"output(\[\d+\])?")
"""The name of an output that is a tensor, or one of a tuple or list of tensors."""
Graph = Literal["module", "program"]


@dataclass(frozen=True)
class Identity:
    """Eager PyTorch; an ONNX workload runs in ONNX Runtime with every optimization off.

    Attributes:
        channels_last: run 4-dimensional tensors in that memory layout.
        graph: the module as its author wrote it, or its exported program (which can come from another revision).
    """

    channels_last: bool = False
    graph: Graph = "module"

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda", "rocm", "xpu", "mps")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it runs the module itself."""
        return self.graph == "module" and artifact.onnx is None

    def worth_trying(self, target: Target) -> dict[str, float]:
        """Return the memory layout that convolutions like."""
        return {"channels_last=true": 1.0}

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Do nothing: that is the point."""

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        if artifact.onnx is not None:
            return _onnxruntime().load(artifact, target, folder)
        pytorch.set_up(target)
        built = self._built(artifact, target)
        runs = pytorch.of_streams(
            pytorch.with_keywords(built.module, built.kwargs),
            lambda: pytorch.with_keywords(pytorch.separate(built.module, artifact.case), built.kwargs),
            artifact,
            is_module=self.graph == "module",
        )
        facts = {"graph": self.graph, "channels_last": self.channels_last}
        load = pytorch.load_module if self.graph == "module" else pytorch.load
        return load(runs, built.args, artifact, target, precision=program.precision(artifact, target), **facts)

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        """Write the weights of a module that a library builds, or else the exported program."""
        if artifact.onnx is not None:
            return _onnxruntime().deploy(artifact, target, compiled, folder)
        found = workloads.construction(artifact.case) if self.runs_module(artifact) else None
        if found is not None and all(OUTPUT.fullmatch(name) for name in artifact.output_names):
            return serving.deploy_module(artifact, target, found, folder, channels_last=self.channels_last)
        return serving.deploy_program(artifact, target, folder, channels_last=self.channels_last)

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        """Return the module with a span for each of its parts, or the program with one for each node.

        A module that the workload keeps may be the one that is timed: it has spans only while it is profiled.

        Raises:
            Unsupported: on other devices than a CPU and NVIDIA's GPUs, and for a ScriptModule.
        """
        if artifact.onnx is not None:
            return _onnxruntime().instrument(artifact, target, compiled)
        profiling.refuse("identity", target)
        pytorch.set_up(target)
        built = self._built(artifact, target)
        if pytorch.is_script(built.module):
            raise Unsupported(f"{artifact.case.workload} returns a ScriptModule, whose parts have no profile each")
        is_program = not self.runs_module(artifact)
        operations = nodes(artifact)
        return profiling.ProfiledModule(
            built.module, built.args, built.kwargs, operations, target, interpreted=is_program
        )

    def _built(self, artifact: Artifact, target: Target) -> Built:
        """Return the module or the program with its arguments, on the target's kind of device."""
        if self.graph == "program":
            built = Built(pytorch.program_module(artifact, target), program.inputs(artifact, kinds.device(target)))
        else:
            built = pytorch.rebuilt(artifact, target, copied=self.channels_last)
        return _in_channels_last(built, artifact.case.workload) if self.channels_last else built


def _onnxruntime() -> OnnxRuntime:
    """Return what runs ONNX files as they are. Imported here: listing tests needs none of it."""
    from pytest_ngraph.compilers.onnxruntime import OnnxRuntime

    return OnnxRuntime(optimization="none")


def _in_channels_last(built: Built, workload: str) -> Built:
    """Return the workload with its weights and inputs of 4 dimensions in that layout.

    Raises:
        Unsupported: no weight has 4 dimensions.
    """
    import torch

    layout = torch.channels_last
    weights = [each for each in (*built.module.parameters(), *built.module.buffers()) if each.ndim == 4]
    if not weights:
        raise Unsupported(f"no weight of {workload} has 4 dimensions, so that channels_last=true changes nothing")
    for weight in weights:  # not `Module.to`, which refuses this layout where another weight has 5
        weight.data = weight.data.contiguous(memory_format=layout)
    moved = (tensor.contiguous(memory_format=layout) if tensor.ndim == 4 else tensor for tensor in built.inputs)
    return built.with_inputs(moved)
