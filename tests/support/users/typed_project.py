"""A user's typed project. mypy checks the public interface against it; `test_public_interface.py` imports it.

`assert_type` fixes the types of attributes and returned values: if one changes, mypy fails here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import pytest

from pytest_ngraph import (
    Array,
    Artifact,
    Built,
    Case,
    CompiledModel,
    Compiler,
    Estimate,
    Family,
    Kernel,
    Kind,
    Metric,
    NgraphError,
    Objective,
    Precision,
    Record,
    Scope,
    Serving,
    Stopwatch,
    Target,
    Threshold,
    Unsupported,
    UsageError,
    WallStopwatch,
    draw_constants,
    program,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from typing_extensions import assert_type


@pytest.mark.ngraph(workload=["resnet18", "nets:small"], batch_size=[1, 8], model_args={"pretrained": False})
@pytest.mark.requires_device(kind="cpu", memory="8GiB")
@pytest.mark.ngraph_gate("speedup<1.2 if compiler=openvino")
def check_measurement(measurement: Record, ngraph_case: Case) -> None:
    if TYPE_CHECKING:
        assert_type(measurement.case, Case)
        assert_type(measurement.outcome, Literal["measured", "unchanged", "failed", "skipped"])
        assert_type(measurement.throughput, float)
        assert_type(measurement.latency_s, float)
        assert_type(measurement.samples, npt.NDArray[np.float64])
        assert_type(measurement.compile_s, float | None)
        assert_type(measurement.cpu_percent, float | None)
        assert_type(measurement.worker_memory_bytes, int | None)
        assert_type(measurement.facts, dict[str, str])
        assert_type(measurement.stable, bool)
        assert_type(ngraph_case.workload, str)
        assert_type(ngraph_case.compiler, str)
        assert_type(ngraph_case.batch_size, int)
        assert_type(ngraph_case.depth, int | None)
        assert_type(ngraph_case.precision, Precision)
        assert_type(ngraph_case.objective, Objective)
        assert_type(ngraph_case.id, str)


@pytest.mark.ngraph(workload="nets:small")
def check_in_this_process(
    compiled_model: CompiledModel, openvino_model: CompiledModel, compile_case: Callable[[Case], CompiledModel]
) -> None:
    if TYPE_CHECKING:
        assert_type(compiled_model(), object)
        assert_type(openvino_model.outputs(), Sequence[Array])
        assert_type(compiled_model.stopwatch, Stopwatch)
        assert_type(compiled_model.facts, dict[str, str])
        assert_type(compiled_model.concurrency, int)


@dataclass(frozen=True)
class Eager:
    """The exported program, as it is."""

    libraries: ClassVar[tuple[str, ...]] = ("torch",)
    kinds: ClassVar[tuple[Kind, ...]] = ("cpu",)
    objectives: ClassVar[tuple[Objective, ...]] = ("latency",)
    level: Literal[0, 1] = 0

    def compile(self, artifact: Artifact, target: Target, folder: Path) -> None:
        if target.precision != "fp32":
            raise Unsupported(f"Eager does not run {target.precision}")
        if TYPE_CHECKING:
            assert_type(target.kind, Kind)
            assert_type(target.cores, tuple[int, ...])
            assert_type(target.threads, int)
            assert_type(artifact.case, Case)
            assert_type(artifact.onnx, Path | None)
            assert_type(artifact.inputs(), list[Array])
            assert_type(artifact.reference(), list[Array])

    def load(self, artifact: Artifact, target: Target, folder: Path) -> CompiledModel:
        return EagerModel(program.load(artifact).module(), program.inputs(artifact))

    def deploy(self, artifact: Artifact, target: Target, compiled: Path, folder: Path) -> Serving:
        return Serving(libraries=("torch",), imports=("import torch",), code="", files={"model.pt2": "the program"})

    def instrument(self, artifact: Artifact, target: Target, compiled: Path) -> ProfiledModel:
        return ProfiledModel()


class ProfiledModel:
    def profile(self, calls: int) -> Sequence[Kernel]:
        return [Kernel(name="all", operator="conv2d", seconds=0.1 / calls, nodes=("conv2d",))]

    def close(self) -> None: ...


class EagerModel:
    concurrency = 1

    def __init__(self, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        self._module, self._inputs = module, inputs
        self.stopwatch = WallStopwatch()
        self.facts = {"precision": "fp32"}

    def __call__(self) -> object:
        return self._module(*self._inputs)

    def outputs(self) -> Sequence[Array]:
        return program.flatten(self())

    def close(self) -> None:
        del self._module


compiler: Compiler = Eager(level=1)


class Squares:
    """Workloads of this project's own kind."""

    priority = 5

    def owns(self, name: str) -> bool:
        return name.startswith("square")

    def check(self, case: Case) -> None:
        if case.depth is not None:
            raise UsageError(f"{case.workload} takes no depth.")

    def build(self, case: Case) -> Built:
        import torch

        module = torch.nn.Linear(4, 4)
        draw_constants(module)
        return Built(module, (torch.ones(case.batch_size, 4),))

    def export(self, case: Case, folder: Path) -> Artifact:
        raise NgraphError("nothing is exported")


family: Family = Squares()


def pytest_ngraph_record(record: Record) -> None:
    """Use one hook of the plugin."""
    if TYPE_CHECKING:
        assert_type(record.to_dict(), dict[str, Any])


def pytest_ngraph_metrics(records: Sequence[Record]) -> list[Metric]:
    """Use the other hook: return a metric of each case, and one over all batch sizes."""
    return [
        *(Metric("mine.half", record.case, Estimate.exactly(record.throughput / 2)) for record in records),
        Metric("mine.count", Scope(workload="resnet18", compiler="identity"), Estimate(1.0, 0.5, 1.5)),
        Metric("mine.unknown", Scope(compiler="identity"), absent="nothing was measured"),
    ]


threshold = Threshold.parse("mine.half<1")
if TYPE_CHECKING:
    assert_type(threshold, Threshold)
    assert_type(Estimate(1.0, 0.5, 1.5).low, float)
