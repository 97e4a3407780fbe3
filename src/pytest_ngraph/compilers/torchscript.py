"""TorchScript: the exported program, traced and frozen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pytest_ngraph.artifact import Artifact, Kind, Target
from pytest_ngraph.case import Objective
from pytest_ngraph.compilers import CompiledModel, program, pytorch

FILE = "model.pt"


@dataclass(frozen=True)
class TorchScript:
    """TorchScript.

    Attributes:
        optimize: apply `torch.jit.optimize_for_inference` (layouts and fusions of the device the model is loaded on).
    """

    optimize: bool = True

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu", "cuda")
    objectives: ClassVar[tuple[Objective, ...]] = ("latency", "throughput")

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        import torch

        pytorch.set_up(target)
        module = pytorch.program_module(artifact, target)
        with _without_warnings(), torch.inference_mode():
            # `freeze` requires `eval`. Exported programs refuse it, with their mode in the graph; a trace accepts it.
            traced = torch.jit.trace(module, program.inputs(artifact, target.kind)).eval()  # type: ignore[no-untyped-call]
            torch.jit.save(torch.jit.freeze(traced), folder / FILE)

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        import torch

        pytorch.set_up(target)
        with _without_warnings():
            module = torch.jit.load(folder / FILE, map_location=target.kind).eval()  # type: ignore[no-untyped-call]
            if self.optimize:  # here, because the weights that it packs for this processor cannot be saved
                module = torch.jit.optimize_for_inference(module)
        inputs = program.inputs(artifact, target.kind)
        if target.kind == "cuda":
            with torch.inference_mode():
                for _ in range(2):  # the first call profiles, the second fuses; later calls are like those timed
                    module(*inputs)
                torch.cuda.synchronize()
        return pytorch.load(module, inputs, target, optimize=self.optimize)


class _without_warnings(warnings.catch_warnings):  # noqa: N801 (reads as a function)
    """Hides deprecation warnings, which PyTorch repeats at every call: whoever benchmarks TorchScript knows."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore")
