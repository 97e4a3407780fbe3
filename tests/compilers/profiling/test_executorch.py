"""ExecuTorch's events are led back to the program by the order of the lowered one. Names are those that it wrote."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from explained import node

from pytest_ngraph.compilers.profiling import executorch
from pytest_ngraph.compilers.profiling.executorch import (
    Operation,
    ProfiledMethod,
    family,
    in_order,
    keep_operations,
    kept_operations,
    kernels,
    ran,
)
from pytest_ngraph.compilers.profiling.matching import located

LOWERED = [
    Operation("convolution.default", "conv2d"),
    Operation("relu.default", "relu"),
    Operation("avg_pool2d.default", "avg_pool2d"),
    Operation("convolution.default", "conv2d_1"),
    Operation("add.Tensor", "add"),
    Operation("mean.dim", "mean"),
    Operation("linear.default", "linear"),
]
NODES = [
    node("conv2d", "body.conv", inputs=["x"]),
    node("batch_norm", "body.norm", inputs=["conv2d"]),
    node("relu", "body.act", inputs=["batch_norm"]),
    node("avg_pool2d", "down.pool", inputs=["relu"]),
    node("conv2d_1", "down.conv", "conv2d", inputs=["avg_pool2d"]),
    node("add", "body", inputs=["conv2d_1", "relu"]),
    node("mean", "pool", inputs=["add"]),
    node("linear", "head", inputs=["mean"]),
]
EVENTS = [
    "Transpose (ND, X32) #1",
    "Convolution (NHWC, F32) IGEMM #1",  # with the normalization and the activation
    "Transpose (ND, X32) #2",
    "native_call_avg_pool2d.out",
    "Fully Connected (NC, F32) GEMM #1",  # a pointwise convolution
    "Add (ND) #1",
    "Mean (ND) Reduce2 #1",
    "Fully Connected (NC, F32) GEMM #2",
]


def test_kernels_have_the_operations_of_the_lowered_program_in_its_order() -> None:
    known = in_order(EVENTS, LOWERED)
    found = located(kernels([0.1] * len(EVENTS), known), known, NODES)
    assert [kernel.nodes for kernel in found if not kernel.layout] == [
        ("conv2d", "batch_norm", "relu"),
        ("avg_pool2d",),
        ("conv2d_1",),
        ("add",),
        ("mean",),
        ("linear",),
    ]
    assert [kernel.kind for kernel in found if kernel.layout] == ["Transpose (ND, X32)"] * 2
    assert len({kernel.name for kernel in found}) == len(EVENTS)
    assert {kernel.provider for kernel in found} == {"XnnpackBackend", "ExecuTorch"}
    assert found[1].operator == "Convolution"


@pytest.mark.parametrize(
    ("event", "operation"),
    [
        ("Convolution (NHWC, F32) DWConv #12", "convolution.default"),
        ("Clamp (NC) #1", "hardtanh.default"),
        ("Softmax (NC, F32) #1", "_softmax.default"),
        ("Static Reshape (NC) #3", "view_copy.default"),
        ("native_call_native_layer_norm.out", "native_layer_norm.default"),
        ("native_call_unsqueeze_copy.out", "unsqueeze_copy.default"),
    ],
)
def test_events_and_operations_have_words_in_common(event: str, operation: str) -> None:
    assert family(event) == family(operation)


class Traced:
    """Stands for a loaded module, and for what reads its events: one for each call since they were last written."""

    def __init__(self) -> None:
        self._since = self.written = 0

    def call(self) -> None:
        self._since += 1

    def write_etdump_result_to_file(self, path: str) -> None:
        self.written, self._since = self._since, 0

    def read(self, dump: Path) -> dict[str, Any]:
        return {"run_data": [run(traced("Convolution (NHWC, F32) IGEMM"))] * self.written}


def run(*events: dict[str, Any], name: str = "Execute") -> dict[str, Any]:
    return {"name": name, "events": list(events)}


def traced(delegated: str = "", name: str = "", milliseconds: int = 1) -> dict[str, Any]:
    """Return an event as flatc writes it, which leaves out text that is not set."""
    names = {key: value for key, value in (("name", name), ("delegate_debug_id_str", delegated)) if value}
    return {"profile_event": {"start_time": 5, "end_time": 5 + milliseconds * 1_000_000, **names}}


def test_loading_and_the_first_call_are_not_in_the_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    module = Traced()
    monkeypatch.setattr(executorch, "as_json", module.read)
    method = ProfiledMethod(module, module.call, LOWERED, NODES)
    for _ in range(2):
        (kernel,) = method.profile(5)
        assert kernel.seconds == pytest.approx(1e-3, rel=1e-12)


def test_kernels_of_all_calls_are_read_and_neither_what_calls_them_nor_what_is_allocated() -> None:
    call = run(
        traced("Convolution (NHWC, F32) IGEMM #1", milliseconds=2),
        traced(name="DELEGATE_CALL", milliseconds=3),
        traced(name="native_call_avg_pool2d.out", milliseconds=4),
        {"allocation_event": {"allocator_id": 1, "allocation_size": 64}},
        traced(name="Method::execute", milliseconds=9),
    )
    found = ran({"run_data": [run(traced(name="Program::load_method"), name="Default"), call, call]})
    assert [name for name, _ in found] == ["Convolution (NHWC, F32) IGEMM #1", "native_call_avg_pool2d.out"]
    assert [seconds for _, seconds in found] == pytest.approx([4e-3, 8e-3], rel=1e-12)


def test_operations_of_partitions_stand_where_these_are_called(tmp_path: Path) -> None:
    def call(name: str, target: str, *args: Any) -> Any:
        made = SimpleNamespace(name=name, meta={}, op="call_function", args=args)
        made.target = SimpleNamespace(__name__=target)
        return made

    inner = SimpleNamespace(graph=SimpleNamespace(nodes=[call("conv2d", "aten.convolution.default")]))
    partition = SimpleNamespace(original_module=SimpleNamespace(graph_module=inner))
    outer = SimpleNamespace(lowered_module_0=partition)
    outer.graph = SimpleNamespace(
        nodes=[
            call("pool", "aten.avg_pool2d.default"),
            call("delegate", "executorch_call_delegate", SimpleNamespace(name="lowered_module_0")),
            call("item", "getitem"),
        ]
    )
    lowered = SimpleNamespace(exported_program=lambda: SimpleNamespace(graph_module=outer))
    keep_operations(lowered, tmp_path)
    assert kept_operations(tmp_path) == [
        Operation("avg_pool2d.default", "pool"),
        Operation("convolution.default", "conv2d"),
    ]
