"""The code that serves a graph on a GPU, with a runtime whose libraries for it may be missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
import served
from compiled import CPU, Export

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.onnxruntime import OnnxRuntime
from pytest_ngraph.compilers.serving import Serving
from pytest_ngraph.compilers.serving.onnxruntime import deploy

CASE = Case(workload="conv", compiler="onnxruntime", batch_size=1, width=16)
CUDA = "CUDAExecutionProvider", {"use_tf32": "0"}


@dataclass
class Runtime:
    """A build for CUDA, which falls back to the CPU unless CUDA's libraries are loaded before.

    Attributes:
        finds: whether it finds them where pip installs them.
        asked: the providers that it was asked for.
    """

    finds: bool
    asked: list[Any] = field(default_factory=list)
    has: list[str] = field(default_factory=lambda: ["CPUExecutionProvider"])
    SessionOptions: Any = SimpleNamespace
    GraphOptimizationLevel: Any = field(default_factory=MagicMock)

    def preload_dlls(self) -> None:
        if self.finds:
            self.has.insert(0, "CUDAExecutionProvider")

    def InferenceSession(self, path: Path, options: object, providers: list[Any]) -> Any:  # noqa: N802
        self.asked = providers
        return SimpleNamespace(get_providers=lambda: self.has)


def on_cuda(exported: Export, folder: Path) -> Serving:
    (folder / "model.onnx").touch()
    (out := folder / "out").mkdir()
    target = Target(kind="cuda")
    artifact = exported(CASE)
    return deploy(artifact, target, folder / "model.onnx", out, provider=CUDA, level="ORT_ENABLE_ALL")


def test_libraries_that_pip_installs_are_found(exported: Export, tmp_path: Path) -> None:
    runtime = Runtime(finds=True)
    session = served.imported(tmp_path, on_cuda(exported, tmp_path), onnxruntime=runtime).load()
    assert runtime.asked == [CUDA]
    assert session.get_providers()[0] == "CUDAExecutionProvider"


def test_a_folder_for_a_gpu_does_not_serve_on_the_cpu(exported: Export, tmp_path: Path) -> None:
    serving = on_cuda(exported, tmp_path)
    with pytest.raises(RuntimeError, match=r"uses CPUExecutionProvider, not CUDA.*requirements\.txt"):
        served.imported(tmp_path, serving, onnxruntime=Runtime(finds=False)).load()
    assert serving.libraries == ("onnxruntime[cuda,cudnn]",)


@pytest.mark.parametrize("workload", ["conv", "complex_nets:of_complex"])
def test_as_many_inputs_are_given_as_the_model_takes(workload: str, exported: Export, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    case = Case(workload=workload, compiler="onnxruntime", batch_size=1, width=16 if workload == "conv" else None)
    artifact = exported(case)
    (compiled := tmp_path / "compiled").mkdir()
    (out := tmp_path / "out").mkdir()
    OnnxRuntime().compile(artifact, CPU, compiled)
    module = served.imported(out, OnnxRuntime().deploy(artifact, CPU, compiled, out), onnxruntime=runtime)
    model, (given,) = module.load(), artifact.inputs()
    assert np.allclose(module.answer(model, [given])[0], artifact.reference()[0], atol=1e-4)
    for inputs in ([], [given, given]):
        with pytest.raises(ValueError, match=rf"^the model takes 1 inputs \(\w+\), not {len(inputs)}$"):
            module.answer(model, inputs)
