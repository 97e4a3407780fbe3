"""A machine's health, over a fake system."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.machine.health import Health, read
from pytest_ngraph.machine.nvml import Device


class Board:
    """What psutil reports of a board on its battery."""

    def sensors_temperatures(self) -> dict[str, list[Any]]:
        temperatures: list[list[float | None]] = [[41.5, 63.0], [-127.0, None]]
        return {str(chip): [SimpleNamespace(current=each) for each in found] for chip, found in enumerate(temperatures)}

    def cpu_freq(self) -> Any:
        return SimpleNamespace(current=1510.4)

    def sensors_battery(self) -> Any:
        return SimpleNamespace(percent=31.0, power_plugged=False)

    def disk_usage(self, place: str) -> Any:
        if place.endswith("missing"):
            raise FileNotFoundError(place)
        return SimpleNamespace(free=5)

    def virtual_memory(self) -> Any:
        return SimpleNamespace(available=7)


class Silent(Board):
    """A virtual machine without sensors, batteries and clocks."""

    def sensors_temperatures(self) -> Any:
        raise AttributeError("not on this system")

    def cpu_freq(self) -> Any:
        raise NotImplementedError

    def sensors_battery(self) -> Any:
        return None


@pytest.fixture
def cpus(tmp_path: Path) -> Path:
    """A folder like `/sys/devices/system/cpu` of a board whose cores have two governors."""
    for number, governor in enumerate(("schedutil", "performance", "schedutil")):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
    return tmp_path


def test_a_board_reports_everything(cpus: Path) -> None:
    (cpus / "profile").write_text("balanced\n")
    found = read(cpus / "missing", cpus, str(cpus / "profile"), system=Board())
    assert found == Health(
        temperature_c=63.0,
        clock_mhz=1510.4,
        governor="performance, schedutil",
        profile="balanced",
        battery_percent=31.0,
        disk_bytes=5,
        memory_bytes=7,
    )
    assert Health.from_dict(found.to_dict() | {"of a later version": 1}) == found
    for odd in ({"temperature_c": "hot"}, {"governor": None}, {"disk_bytes": [1]}):
        with pytest.raises(ValueError, match=f"{next(iter(odd))} is"):
            Health.from_dict(found.to_dict() | odd)


def test_what_is_not_reported_is_left_open(tmp_path: Path) -> None:
    assert read(tmp_path, tmp_path, str(tmp_path / "none"), system=Silent()) == Health(disk_bytes=5, memory_bytes=7)


def test_a_hot_gpu_counts(tmp_path: Path) -> None:
    library = SimpleNamespace(
        NVMLError=OSError,
        nvmlDeviceGetHandleByPciBusId=lambda bus: bus,
        nvmlDeviceGetTemperature=lambda handle, sensor: {0: 88}[sensor],
    )
    found = read(tmp_path, tmp_path, gpus=[Device("0000:01:00.0", library)], system=Board())
    assert found.temperature_c == 88.0


def test_this_machine_can_be_read(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found.disk_bytes is not None
    assert found.memory_bytes is not None
