"""Intel's GPUs: PyTorch's XPU, and OpenVINO's GPU. Never run."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.clock import Stopwatch
from pytest_ngraph.compilers.kinds.kind import ROOT, DeviceKind, pci
from pytest_ngraph.compilers.streams import DrainingStopwatch


class Xpu(DeviceKind):
    """Intel's GPUs, integrated ones included."""

    torch = "xpu"
    openvino = "GPU"

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        return pci(root, "sys/class/drm/renderD*/device", "0x8086")

    def set_up(self, index: int) -> None:
        import torch

        torch.xpu.set_device(index)

    def wait(self) -> None:
        import torch

        torch.xpu.synchronize()

    def stopwatch(self) -> Stopwatch:
        return DrainingStopwatch(self.wait)

    def memory(self) -> tuple[int, int] | None:
        import torch

        return torch.xpu.mem_get_info() if torch.xpu.is_available() else None  # OpenVINO needs no such PyTorch

    def facts(self) -> dict[str, str]:
        import torch

        return {"gpu": torch.xpu.get_device_name()}


KIND = Xpu()
