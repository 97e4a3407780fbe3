"""CUDA code paths on a fake `torch.cuda`. They show which calls are made, not what a GPU does."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch
from torch._dynamo.utils import counters

from pytest_ngraph.artifact import CAVEAT, Target
from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers import cuda, pytorch
from pytest_ngraph.compilers.inductor.model import InductorModel


class Stream:
    cuda_stream = 7

    def __init__(self) -> None:
        self.now_ms = 0.0


class Event:
    """An event that is reached when the stream has finished the work issued before it."""

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing
        self._at_ms = 0.0
        self.waited = False

    def record(self, stream: Stream) -> None:
        self._at_ms = stream.now_ms

    def synchronize(self) -> None:
        self.waited = True

    def elapsed_time(self, end: Event) -> float:
        assert end.waited, "the end must be reached before its time is read"
        return end._at_ms - self._at_ms


@pytest.fixture
def current(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """Return the streams that were made current, in order."""
    made_current: list[object] = []
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "set_stream", made_current.append)
    cuda.own_stream.cache_clear()
    yield made_current
    cuda.own_stream.cache_clear()


def test_the_stopwatch_reads_the_devices_clock(current: list[object]) -> None:
    stream = cuda.own_stream()
    stopwatch: Stopwatch = cuda.CudaStopwatch(stream)
    stopwatch.start()
    stream.now_ms += 12.5  # type: ignore[attr-defined]
    assert stopwatch.stop() == pytest.approx(0.0125)


def test_all_models_share_one_stream_that_is_not_the_default(current: list[object]) -> None:
    assert cuda.own_stream() is cuda.own_stream()
    assert current == [cuda.own_stream()]


def test_a_gpu_computes_fp32_in_fp32(current: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    pytorch.set_up(Target(kind="cuda", cores=(0,)))
    assert not torch.backends.cudnn.allow_tf32
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_model_on_a_gpu_is_timed_there(current: list[object]) -> None:
    model = pytorch.PytorchModel(lambda x: x, (torch.ones(1),), Target(kind="cuda"))
    assert isinstance(model.stopwatch, cuda.CudaStopwatch)
    assert model.facts["provider"] == "cuda"
    assert "threads" not in model.facts


def test_what_pytorch_was_told_is_recorded_and_the_same_for_every_compiler(current: list[object]) -> None:
    target = Target(kind="cuda", cores=(0,))
    pytorch.set_up(target)
    model = pytorch.PytorchModel(lambda x: x, (torch.ones(1),), target)
    chosen = {"tf32": "False", "cudnn_autotune": "True", "cuda_graphs": "off"}
    assert {name: model.facts[name] for name in chosen} == chosen


@pytest.mark.parametrize(
    ("mode", "skips", "graphs"),
    [("default", 0, "off"), ("reduce-overhead", 0, "replayed"), ("reduce-overhead", 2, "skipped 2 times")],
)
def test_cuda_graphs_that_inductor_leaves_out_are_noticed(
    mode: str, skips: int, graphs: str, current: list[object]
) -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        counters["inductor"]["cudagraph_skips"] += skips
        return x

    counters["inductor"]["cudagraph_skips"] += 5  # of another model
    model = InductorModel(run, (torch.ones(1),), Target(kind="cuda"), mode=mode)
    model.outputs()
    assert model.facts["cuda_graphs"] == graphs
    assert (CAVEAT in model.facts) == (skips > 0)
    model.close()


def test_calls_of_tvm_run_on_pytorchs_stream(current: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    from pytest_ngraph.compilers.tvm.runtime import _compute_on

    entered: list[tuple[object, int]] = []
    monkeypatch.setattr(tvm_ffi, "use_raw_stream", lambda *on: SimpleNamespace(__enter__=lambda: entered.append(on)))
    _compute_on.cache_clear()
    for _ in range(2):  # two models of a process
        _compute_on("cuda:0", cuda.own_stream().cuda_stream)
    assert entered == [("cuda:0", 7)]
    _compute_on.cache_clear()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_real_gpu_takes_time() -> None:
    stopwatch = cuda.CudaStopwatch(cuda.own_stream())
    matrix = torch.ones(1024, 1024, device="cuda")
    stopwatch.start()
    matrix @ matrix
    assert stopwatch.stop() > 0
