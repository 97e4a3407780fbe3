"""`torch.utils.benchmark.Timer` on a network: in eager PyTorch, or compiled as PyTorch's users do it."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch._inductor.config as inductor
from serving import Measure, serve
from torch.utils.benchmark import Timer

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import program
from pytest_ngraph.workloads import build


def prepare(
    case: dict[str, Any],
    threads: int,
    method: str,
    arguments: dict[str, Any],
    compiler: str = "identity",
    artifact: dict[str, Any] | None = None,
    warm: bool = False,
) -> Measure:
    """Build or compile the network.

    Args:
        case: the case to build in eager PyTorch.
        threads: threads of the timer.
        method: method of `Timer` to call.
        arguments: arguments of that method.
        compiler: `identity`, `torchscript` or `inductor`.
        artifact: the artifact to compile; without it the case is built.
        warm: measure once without using the result.
    """
    if artifact is None:
        built = build(Case.from_dict(case))
        module, inputs = built.module, built.inputs
    else:
        module, inputs = compiled(compiler, Artifact.from_dict(artifact))
    timer = Timer("module(*inputs)", globals={"module": module, "inputs": inputs}, num_threads=threads)

    def measure() -> dict[str, float]:
        begin = time.perf_counter()
        with torch.inference_mode():
            found = getattr(timer, method)(**arguments)
        return {"seconds": found.median, "measured_s": time.perf_counter() - begin}

    if warm:
        measure()
    return measure


def compiled(compiler: str, artifact: Artifact) -> tuple[Any, tuple[torch.Tensor, ...]]:
    """Return the exported program under TorchScript or Inductor, with frozen weights like ours, and its inputs."""
    module: Any = program.load(artifact).module()
    inputs = program.inputs(artifact)
    with torch.inference_mode():
        if compiler == "torchscript":
            traced = torch.jit.trace(module, inputs).eval()  # type: ignore[no-untyped-call]
            module = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
        if compiler == "inductor":
            # Set globally: an option of `torch.compile` would come too late, because tracing reads it too.
            inductor.freezing = True
            module = torch.compile(module)
            module(*inputs)
    return module, inputs


if __name__ == "__main__":
    serve(prepare)
