"""CUDA code paths on a fake `torch.cuda`. They show which calls are made, not what a GPU does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from pytest_ngraph.artifact import Target
from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers import cuda, pytorch


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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU")
def test_a_real_gpu_takes_time() -> None:
    stopwatch = cuda.CudaStopwatch(cuda.own_stream())
    matrix = torch.ones(1024, 1024, device="cuda")
    stopwatch.start()
    matrix @ matrix
    assert stopwatch.stop() > 0
