"""Google's TPUs. No compiler here compiles for them yet: docs/gpu.md says what is missing."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.compilers.kinds.kind import ROOT, DeviceKind, pci


class Tpu(DeviceKind):
    """TPUs on the PCI bus: Google's devices of the class for accelerators, which its network cards are not."""

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        return pci(root, "sys/bus/pci/devices/*", "0x1ae0", kind_of_class="0x12")


KIND = Tpu()
