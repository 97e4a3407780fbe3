"""What the models of a process need of memory: of its own, and of the GPU's."""

from __future__ import annotations

import gc
import resource
import sys
from contextlib import suppress
from pathlib import Path

from pytest_ngraph import allocator
from pytest_ngraph.artifact import Kind
from pytest_ngraph.errors import NgraphError


class Footprint:
    """The peaks since `begin`. On a CPU, the GPU is not asked."""

    def __init__(self) -> None:
        self._gpu_before = 0
        self._gpu_peak = 0

    def begin(self, kind: Kind) -> None:
        """Start anew, so that an earlier case of this process does not count for this one."""
        _reset_peak()
        self._gpu_before = _gpu_in_use() if kind == "cuda" else 0
        self._gpu_peak = 0

    def look(self, kind: Kind) -> None:
        """See what the GPU has in use, while no other process allocates: its driver tells of all of them together."""
        if kind == "cuda":
            self._gpu_peak = max(self._gpu_peak, _gpu_in_use() - self._gpu_before)

    def peaks(self, kind: Kind) -> dict[str, int | None]:
        """Bytes, under their names in a record."""
        gpu = self._gpu_peak if kind == "cuda" else None
        return {"peak_memory_bytes": _peak(), "device_memory_bytes": gpu}


def give_back() -> None:
    """What this process keeps for later, of memory and of a GPU's, which no other could use meanwhile."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        gc.collect()
        torch.cuda.empty_cache()
    allocator.give_back()


def _reset_peak() -> None:
    allocator.give_back()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):  # another system, or a kernel that does not tell
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _gpu_in_use() -> int:
    import torch

    if not torch.cuda.is_available():
        raise NgraphError("PyTorch finds no CUDA device. Check nvidia-smi, and whether this PyTorch is built for CUDA.")
    free, total = torch.cuda.mem_get_info()
    return total - free
