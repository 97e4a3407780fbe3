"""Apple's GPUs, through PyTorch's Metal Performance Shaders. Never run."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers.kinds.kind import ROOT, DeviceKind
from pytest_ngraph.compilers.streams import DrainingStopwatch


class Mps(DeviceKind):
    """The GPU of an Apple processor, which has no memory of its own."""

    torch = "mps"

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        return ("Apple GPU",) if sys.platform == "darwin" and platform.machine() == "arm64" else ()

    def wait(self) -> None:
        import torch

        torch.mps.synchronize()

    def stopwatch(self) -> Stopwatch:
        return DrainingStopwatch(self.wait)

    def memory(self) -> tuple[int, int]:
        import torch

        total = torch.mps.recommended_max_memory()
        return total - torch.mps.driver_allocated_memory(), total

    def give_back(self) -> None:
        if (torch := sys.modules.get("torch")) is not None and torch.backends.mps.is_available():
            torch.mps.empty_cache()


KIND = Mps()
