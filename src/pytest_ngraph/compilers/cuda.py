"""CUDA through PyTorch: one stream for all timed work, and a stopwatch that runs on the device."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@cache
def own_stream() -> torch.cuda.Stream:
    """Return the stream that all timed work runs on. The first call makes it the calling thread's current stream.

    It is not the default stream, which synchronizes with all others and on which CUDA graphs cannot be captured. All
    models of the process share it, so that two models that alternate never overlap.
    """
    import torch

    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    torch.cuda.set_stream(stream)
    return stream


def use_full_fp32() -> None:
    """Make PyTorch compute fp32 in fp32: by default cuDNN rounds the inputs of convolutions to TF32's 11 bits."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def autotune() -> None:
    """Have cuDNN time its algorithms for each convolution, as ONNX Runtime and TensorRT do by default."""
    import torch

    torch.backends.cudnn.benchmark = True


def choices() -> dict[str, str]:
    """Return how PyTorch is set, which is the same for every compiler, as facts of a record."""
    import torch

    tf32 = torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32
    return {"tf32": str(tf32), "cudnn_autotune": str(torch.backends.cudnn.benchmark), "cuda_graphs": "off"}


class CudaStopwatch:
    """Times what is issued to a stream between `start` and `stop`, on the device, by events on that stream."""

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
