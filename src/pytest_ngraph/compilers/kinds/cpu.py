"""CPUs: calls return when their work is done."""

from __future__ import annotations

from pytest_ngraph.compilers.kinds.kind import DeviceKind


class Cpu(DeviceKind):
    """Processors."""

    torch = "cpu"
    openvino = "CPU"


KIND = Cpu()
