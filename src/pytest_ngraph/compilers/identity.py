"""Identity: eager PyTorch, uncompiled. The baseline of speedup and BSR."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_ngraph import workloads
from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, program, pytorch
from pytest_ngraph.workloads.tensors import dtype

if TYPE_CHECKING:
    import torch

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
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def runs_module(self, artifact: Artifact) -> bool:
        """Return whether it runs the module itself."""
        return self.graph == "module" and artifact.onnx is None

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Do nothing: that is the point."""

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        if artifact.onnx is not None:
            from pytest_ngraph.compilers.onnxruntime import OnnxRuntime

            return OnnxRuntime(optimization="none").load(artifact, target, folder)
        pytorch.set_up(target)
        module = self._module(artifact, target)
        inputs = program.inputs(artifact, target.kind)
        if self.channels_last:
            module, inputs = _in_channels_last(module, inputs)
        return pytorch.load(module, inputs, target, graph=self.graph, channels_last=self.channels_last)

    def _module(self, artifact: Artifact, target: Target) -> torch.nn.Module:
        if self.graph == "program":
            return pytorch.program_module(artifact, target)
        module = workloads.build(artifact.case).module
        if self.channels_last or (target.kind, target.precision) != ("cpu", "fp32"):
            module = copy.deepcopy(module)  # the user may keep the original and use it again
        return module.to(target.kind, dtype(target.precision))


def _in_channels_last(
    module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]
) -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    import torch

    layout = torch.channels_last
    moved = (tensor.contiguous(memory_format=layout) if tensor.ndim == 4 else tensor for tensor in inputs)
    return module.to(memory_format=layout), tuple(moved)
