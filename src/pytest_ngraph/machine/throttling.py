"""Whether the machine is slowed down now, on any processor: by Linux's thermal framework, firmware, or a GPU's driver.

x86 processors slow themselves down, and count it (`contention.throttles`). ARM boards leave it to the kernel, which
limits the clocks of cores and GPU as "cooling devices" (Documentation/driver-api/thermal/sysfs-api.rst). On a Raspberry
Pi the firmware limits them, and its driver shows what `vcgencmd get_throttled` does. Never run on one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from pytest_ngraph.artifact import Kind
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.machine.nvml import Device
from pytest_ngraph.system.files import text_of

THERMAL = Path("/sys/class/thermal")
PLATFORM = Path("/sys/devices/platform")
FIRMWARE = "soc*/*firmware*/get_throttled"
"""The file of a Raspberry Pi's firmware, below `PLATFORM`: a hexadecimal number."""
SLOWED = {2: "clock capped", 4: "throttled", 8: "soft temperature limit"}
"""Bits of that number that say how it is now. A low voltage, bit 1, slows it down only together with another."""
OF_CLOCKS = re.compile(r"cpufreq|devfreq|gpu|processor", re.IGNORECASE)
"""Cooling devices that limit clocks. The others are fans, and pumps."""


class Throttling:
    """Asked after each round what slows the machine down.

    Args:
        gpu: the GPU that computes; None for none.
    """

    def __init__(self, gpu: Device | None = None, thermal: Path = THERMAL, platform: Path = PLATFORM) -> None:
        self._gpu = gpu
        self._firmware = sorted(platform.glob(FIRMWARE))
        self._states = [folder / "cur_state" for folder in sorted(thermal.glob("cooling_device*")) if _limits(folder)]

    def now(self) -> tuple[str, ...]:
        """Return what slows it down now, each in words."""
        cooled = [text_of(state.with_name("type")) for state in self._states if text_of(state) not in ("", "0")]
        limited = [reason for file in self._firmware for reason in _by_firmware(text_of(file))]
        return (*dict.fromkeys(cooled), *limited, *(self._gpu.throttled_by() if self._gpu else ()))

    def others(self, own: Callable[[], Iterable[int]]) -> int | None:
        """Return how many processes other than `own` compute on the GPU; None where that is not known.

        In a container the driver may give the host's ids, which are not those that processes have here. Then none of
        ours is among them, although our workers compute.
        """
        if self._gpu is None or not self._gpu.is_known:
            return None
        running, ours = self._gpu.processes(), set(own())
        return len(running - ours) if not running or running & ours else None


@cache
def of(kind: Kind, index: int) -> Throttling:
    """Return what watches this machine, and its GPU of this kind and index."""
    gpus = this_machine().gpus if kind == "cuda" else ()
    return Throttling(Device(gpus[index].bus) if index < len(gpus) else None)


def _by_firmware(said: str) -> list[str]:
    try:
        bits = int(said, 16)
    except ValueError:
        return []
    return [f"firmware: {reason}" for bit, reason in SLOWED.items() if bits & bit]


def _limits(folder: Path) -> bool:
    return bool(OF_CLOCKS.search(text_of(folder / "type")))
