"""Memory of a worker: the peaks that its models need, and what happens to memory that they free."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path

from pytest_ngraph.artifact import Kind
from pytest_ngraph.errors import NgraphError

M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
ALLOCATOR_VARIABLES = ("GLIBC_TUNABLES", "MALLOC_")
"""Prefixes of the variables by which users set glibc's allocator."""
KEEPING = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**62)}
"""Variables with which a process keeps what it frees, from its start on."""


class Footprint:
    """The peak memory of this process and of the GPU since `begin`. For a CPU, the GPU is not asked."""

    def __init__(self) -> None:
        self._gpu_before = 0
        self._gpu_peak = 0

    def begin(self, kind: Kind) -> None:
        """Reset the peaks, so that earlier cases of this process do not count."""
        _reset_peak()
        self._gpu_before = _gpu_in_use() if kind == "cuda" else 0
        self._gpu_peak = 0

    def look(self, kind: Kind) -> None:
        """Note what the GPU has in use: its driver counts all processes together, so no other may allocate."""
        if kind == "cuda":
            self._gpu_peak = max(self._gpu_peak, _gpu_in_use() - self._gpu_before)

    def peaks(self, kind: Kind) -> dict[str, int | None]:
        """Return the peaks in bytes, by their names in a record."""
        gpu = self._gpu_peak if kind == "cuda" else None
        return {"peak_memory_bytes": _peak(), "device_memory_bytes": gpu}


def give_back() -> None:
    """Give memory that this process has freed, its own and the GPU's, back for other processes to use."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()
    trim()


def _reset_peak() -> None:
    trim()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):  # another system, or a kernel that does not report it
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _gpu_in_use() -> int:
    import torch

    if not torch.cuda.is_available():
        raise NgraphError("PyTorch finds no CUDA device. Check nvidia-smi, and whether this PyTorch is built for CUDA.")
    free, total = torch.cuda.mem_get_info()
    return total - free


def keep_freed_memory() -> None:
    """Make this process keep the memory that it frees for its next calls, from now on.

    glibc either returns large blocks to the kernel as they are freed or keeps them, depending on what its heap looked
    like when the model was loaded. PyTorch frees its activations in every call. If they are returned, the kernel hands
    out and clears each page again in the next call: the same case took up to 2.5 times as long in one process as in
    another, each steady within 1 %. Does nothing if the environment sets the allocator, or if it is not glibc's.
    """
    if any(name.startswith(ALLOCATOR_VARIABLES) for name in os.environ):
        return
    with suppress(AttributeError, OSError):  # another system's allocator
        libc = ctypes.CDLL(None)
        libc.mallopt(M_TRIM_THRESHOLD, -1)
        libc.mallopt(M_MMAP_MAX, 0)


def trim() -> None:
    """Return free memory to the kernel, so that memory used for compiling is available while other models run."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
