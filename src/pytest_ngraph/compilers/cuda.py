"""CUDA as PyTorch exposes it: one stream of our own, and a stopwatch that runs on the device."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@cache
def own_stream() -> torch.cuda.Stream:
    """The stream that everything timed runs on, made the calling thread's current one.

    Never the default stream: it synchronizes with all others, and CUDA graphs cannot be captured on it. One for all
    models of the process, so that two of them that alternate never overlap.
    """
    import torch

    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    torch.cuda.set_stream(stream)
    return stream


def use_full_fp32() -> None:
    """Have PyTorch compute fp32 in fp32: cuDNN rounds the inputs of convolutions to TF32's 11 bits by default."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


class CudaStopwatch:
    """Times on the device, by events on a stream, what is issued to that stream between `start` and `stop`."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        import torch

        self._stream = stream
        self._begin = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._end = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def start(self) -> None:
        self._begin.record(self._stream)

    def stop(self) -> float:
        self._end.record(self._stream)
        self._end.synchronize()
        milliseconds: float = self._begin.elapsed_time(self._end)
        return milliseconds / 1000
