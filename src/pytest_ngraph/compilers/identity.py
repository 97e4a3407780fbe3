"""Identity: eager PyTorch, uncompiled. The baseline of speedup and BSR."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pytest_ngraph import workloads
from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, program, pytorch
from pytest_ngraph.workloads import Built
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

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        """Do nothing: that is the point."""

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        if artifact.onnx is not None:
            from pytest_ngraph.compilers.onnxruntime import OnnxRuntime

            return OnnxRuntime(optimization="none").load(artifact, target, folder)
        pytorch.set_up(target)
        built = self._built(artifact, target)
        module, kwargs = built.module, built.kwargs
        run = functools.partial(module, **kwargs) if kwargs else module
        return pytorch.load(run, built.args, target, graph=self.graph, channels_last=self.channels_last)

    def _built(self, artifact: Artifact, target: Target) -> Built:
        """Return the module with its arguments, on the target's kind of device."""
        inputs: Iterable[torch.Tensor] = program.inputs(artifact, target.kind)
        if self.channels_last:
            inputs = map(_in_channels_last, inputs)
        if self.graph == "program":
            module = pytorch.program_module(artifact, target)
            return Built(self._laid_out(module), tuple(inputs))
        built = workloads.build(artifact.case)
        module = built.module
        if self.channels_last or (target.kind, target.precision) != ("cpu", "fp32"):
            module = copy.deepcopy(module)  # the user may keep the original and use it again
        module = module.to(target.kind, dtype(target.precision))
        return dataclasses.replace(built.with_inputs(inputs), module=self._laid_out(module))

    def _laid_out(self, module: torch.nn.Module) -> torch.nn.Module:
        """Return the module with its weights in the memory layout of the options."""
        import torch

        return module.to(memory_format=torch.channels_last) if self.channels_last else module


def _in_channels_last(tensor: torch.Tensor) -> torch.Tensor:
    import torch

    return tensor.contiguous(memory_format=torch.channels_last) if tensor.ndim == 4 else tensor
