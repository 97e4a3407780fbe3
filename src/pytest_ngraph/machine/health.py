"""How the machine is now: temperature, clocks, governor, power, free disk and memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pytest_ngraph.system.files import text_of

CPUS = Path("/sys/devices/system/cpu")
PROFILE = "/sys/firmware/acpi/platform_profile"
TEXTS = ("governor", "profile")
"""What of a machine's health is no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a machine is. What the system does not report is None, or empty.

    Attributes:
        temperature_c: the highest temperature that any sensor reports, in degrees Celsius.
        clock_mhz: the mean clock of the cores.
        governor: what chooses their clocks; all of them, if cores differ.
        profile: the platform's power profile, such as `balanced`.
        battery_percent: how full the battery is; None on mains power.
        disk_bytes: free disk space for the user, where the device keeps its files.
        memory_bytes: memory that can be had without swapping.
    """

    temperature_c: float | None = None
    clock_mhz: float | None = None
    governor: str = ""
    profile: str = ""
    battery_percent: float | None = None
    disk_bytes: int | None = None
    memory_bytes: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Health:
        """Return what `to_dict` made this data of. What another version knows besides is left out.

        Raises:
            ValueError: a value is neither missing nor of the kind that it should be.
        """
        found = cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})
        for name, value in asdict(found).items():
            kinds = (str,) if name in TEXTS else (int, float)
            is_of_kind = isinstance(value, kinds) and not isinstance(value, bool)
            if not (is_of_kind or (value is None and name not in TEXTS)):
                raise ValueError(f"{name} is {value!r}")
        return found


def read(
    folder: Path, cpus: Path = CPUS, profile: str = PROFILE, gpus: Iterable[Any] = (), system: Any = None
) -> Health:
    """Return how this machine is now.

    Args:
        folder: where the device keeps its files.
        cpus: Linux's folder of the cores.
        profile: Linux's file with the power profile.
        gpus: GPUs as `nvml.Device`; their temperatures count, too.
        system: what is asked of the system; default: psutil.
    """
    import psutil  # slow to import, and not needed for collecting quietly

    system = system or psutil
    governors = {text_of(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return Health(
        temperature_c=max(_temperatures(system, gpus), default=None),
        clock_mhz=_clock_mhz(system),
        governor=", ".join(sorted(governors - {""})),
        profile=text_of(Path(profile)),
        battery_percent=_battery_percent(system),
        disk_bytes=_disk_bytes(system, folder),
        memory_bytes=system.virtual_memory().available,
    )


def _temperatures(system: Any, gpus: Iterable[Any]) -> list[float]:
    """Return all temperatures above zero: a sensor that is not connected reports zero or less."""
    sensors = _asked(system, "sensors_temperatures") or {}
    found = [each.current for chip in sensors.values() for each in chip]
    found += [gpu.temperature_c() for gpu in gpus]
    return [float(each) for each in found if each is not None and each > 0]


def _clock_mhz(system: Any) -> float | None:
    clock = _asked(system, "cpu_freq")
    return float(clock.current) if clock and clock.current else None


def _battery_percent(system: Any) -> float | None:
    battery = _asked(system, "sensors_battery")
    return None if battery is None or battery.power_plugged else float(battery.percent)


def _disk_bytes(system: Any, folder: Path) -> int | None:
    """Return the free space where the folder is, or will be."""
    for place in (folder, *folder.parents):
        try:
            return int(system.disk_usage(str(place)).free)
        except OSError:
            continue
    return None


def _asked(system: Any, function: str) -> Any:
    """Return what the system reports; None where it lacks the function or the files behind it."""
    try:
        return getattr(system, function)()
    except (AttributeError, NotImplementedError, OSError, RuntimeError, ValueError):
        return None
