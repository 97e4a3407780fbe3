"""AMD's GPUs, which PyTorch's build for ROCm calls `cuda` and serves with the same functions. Never run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from pytest_ngraph.compilers.kinds.cuda import Cuda
from pytest_ngraph.compilers.kinds.kind import ROOT, pci


class Rocm(Cuda):
    """AMD's GPUs that have ROCm's kernel driver, without those that the user hides."""

    visible = "HIP_VISIBLE_DEVICES"

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        there = pci(root, "sys/class/drm/renderD*/device", "0x1002") if (root / "dev/kfd").exists() else ()
        listed = self.listed(os.environ)
        by_index = {str(index): each for index, each in enumerate(there)}
        # The system's files do not say which of them has an id such as `GPU-8f1c`.
        known = [by_index.get(name, name if there and name.startswith("GPU-") else "") for name in listed]
        return tuple(takewhile(bool, known)) if listed else there

    def chosen_by(self, environment: Mapping[str, str]) -> str:
        return self.visible if environment.get(self.visible) else super().visible


KIND = Rocm()
