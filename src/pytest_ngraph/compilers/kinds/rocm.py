"""AMD's GPUs, which PyTorch's build for ROCm calls `cuda` and serves with the same functions. Never run."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.compilers.kinds.cuda import Cuda
from pytest_ngraph.compilers.kinds.kind import ROOT, pci


class Rocm(Cuda):
    """AMD's GPUs that have ROCm's kernel driver."""

    visible = "HIP_VISIBLE_DEVICES"

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        return pci(root, "sys/class/drm/renderD*/device", "0x1002") if (root / "dev/kfd").exists() else ()


KIND = Rocm()
