"""What NVIDIA's management library says of a GPU, through `nvidia-ml-py`: clocks, limits, throttling, processes.

Unlike CUDA's driver, it can be asked by a process that later forks. It takes no GPU's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

THROTTLING = {
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}
"""`nvmlClocksEventReason...` by bit: what slows a GPU down from outside. Its power limit (0x4) is a setting of it."""
MISSING = 'clocks, throttling and other processes of the GPU are not recorded: pip install "pytest-ngraph[gpu]"'


@cache
def library() -> Any:
    """Return the module `pynvml`, initialised; None where it or the driver is missing."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    return pynvml


class Device:
    """A GPU. What its driver does not report, as on a Jetson, is left out.

    Args:
        bus: its PCI address, as CUDA's driver gives it.
    """

    def __init__(self, bus: str, lib: Any = None) -> None:
        self._lib = lib or library()
        self._handle: Any = None
        if self._lib is not None and bus:
            with suppress(self._lib.NVMLError):
                self._handle = self._lib.nvmlDeviceGetHandleByPciBusId(bus)

    @property
    def is_known(self) -> bool:
        """Whether the library knows this GPU."""
        return self._handle is not None

    def throttled_by(self) -> tuple[str, ...]:
        """Return what slows it down now."""
        # The first is the name since driver 535; the second that of before.
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            bits = self._ask(name)
            if bits is not None:
                return tuple(f"GPU {reason}" for bit, reason in THROTTLING.items() if bits & bit)
        return ()

    def temperature_c(self) -> int | None:
        """Return its temperature in degrees Celsius; None if it is not known."""
        found = self._ask("nvmlDeviceGetTemperature", 0)  # NVML_TEMPERATURE_GPU
        return None if found is None else int(found)

    def settings(self) -> dict[str, str]:
        """Return the settings that its speed depends on: its power limit and its clocks' upper ends, in W and MHz."""
        found = {}
        if (limit := self._ask("nvmlDeviceGetEnforcedPowerLimit")) is not None:
            found["power limit"] = f"{limit / 1000:g} W"
        for name, clock in (("SM clock", "NVML_CLOCK_SM"), ("memory clock", "NVML_CLOCK_MEM")):
            number = getattr(self._lib, clock, None)
            highest = self._ask("nvmlDeviceGetMaxClockInfo", number)
            chosen = self._ask("nvmlDeviceGetApplicationsClock", number)
            if highest is not None:
                found[f"largest {name}"] = f"{highest} MHz"
            if chosen not in (None, highest):
                found[f"chosen {name}"] = f"{chosen} MHz"
        return found

    def processes(self) -> set[int]:
        """Return the ids of the processes that compute on it."""
        return {process.pid for process in self._running()}

    def held_by(self, pid: int) -> int | None:
        """Return the bytes of its memory that a process holds; None where the driver does not report it."""
        return next((process.usedGpuMemory for process in self._running() if process.pid == pid), None)

    def _running(self) -> Sequence[Any]:
        return self._ask("nvmlDeviceGetComputeRunningProcesses") or ()

    def _ask(self, function: str, *arguments: Any) -> Any:
        """Return the library's answer; None where it has none for this GPU."""
        ask = getattr(self._lib, function, None)
        if ask is None or not self.is_known:
            return None
        with suppress(self._lib.NVMLError):
            return ask(self._handle, *arguments)
        return None
