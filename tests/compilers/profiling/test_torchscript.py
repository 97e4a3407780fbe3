"""Every operator of TorchScript's frozen graph has its own time, also oneDNN's, which do not report themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from explained import node

from pytest_ngraph.compilers.profiling import torchscript
from pytest_ngraph.compilers.profiling.timeline import Span
from pytest_ngraph.compilers.profiling.torchscript import ProfiledScript, Step


def test_convolutions_in_a_row_have_a_kernel_each() -> None:
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Conv2d(8, 8, 3), torch.nn.ReLU()).eval()
    image = torch.randn(1, 3, 16, 16)
    with torch.inference_mode():
        traced: Any = torch.jit.trace(module, image)  # type: ignore[no-untyped-call]
        optimized: Any = torch.jit.optimize_for_inference(torch.jit.freeze(traced))
    nodes = [
        node("conv2d", "0", "conv2d"),
        node("conv2d_1", "1", "conv2d", ["conv2d"]),
        node("relu", "2", "relu", ["conv2d_1"]),
    ]

    def run() -> object:
        with torch.inference_mode():
            return optimized(image)

    profiled = ProfiledScript(run, optimized.graph, nodes, "cpu")
    kernels = {kernel.nodes: kernel.seconds for kernel in profiled.profile(3) if kernel.nodes}
    assert [*kernels] == [("conv2d",), ("conv2d_1",), ("relu",)]
    assert all(seconds > 0 for seconds in kernels.values())
    torch.testing.assert_close(run(), module(image))


def test_what_runs_otherwise_than_the_graph_says_stays_without_a_time() -> None:
    def step(operator: str) -> Step:
        return Step(operator, operator, "", (), (), f"aten::{operator}")

    call = Span("forward", 0, 100)
    call.inner = [Span("aten::empty", 1, 2), Span("aten::relu_", 40, 50), Span("aten::mean", 55, 60)]
    found = torchscript.timed(call, [step("relu"), step("mean"), step("softmax"), step("relu")])
    assert dict(found) == pytest.approx({"relu": 10e-9, "mean": 5e-9})


def test_a_step_that_begins_nothing_is_whole() -> None:
    steps = [Step(name, name, "", (), (name,), f"aten::{name}") for name in ("conv2d", "relu", "mul")]
    nodes = [node("conv2d_1", "conv", "conv2d"), node("relu_1", "act", "relu", ["conv2d_1"])]
    known = torchscript.known(steps, nodes)
    assert {name: each.whole for name, each in known.items()} == {"conv2d": False, "relu": True, "mul": False}
