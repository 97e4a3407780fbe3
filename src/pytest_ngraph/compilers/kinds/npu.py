"""Intel's NPUs, which OpenVINO uses and PyTorch does not. Never run."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.compilers.kinds.kind import ROOT, DeviceKind, pci


class Npu(DeviceKind):
    """Intel's NPUs that have the kernel driver `intel_vpu`."""

    openvino = "NPU"

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        return pci(root, "sys/class/accel/accel*/device", "0x8086")


KIND = Npu()
