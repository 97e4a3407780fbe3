"""What is asked of `nvidia-ml-py`, which is faked: no GPU was asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.machine import jetson, machine, nvml
from pytest_ngraph.machine.gpus import Gpu


class NVMLError(Exception):
    """What the library raises, also for what a GPU does not report."""


def library(reasons: int = 0, **more: Any) -> SimpleNamespace:
    """Return a library that knows one GPU, at `0000:41:00.0`."""

    def handle(bus: str) -> str:
        if bus != "0000:41:00.0":
            raise NVMLError("Not Found")
        return bus

    def unsupported(*_: object) -> None:
        raise NVMLError("Not Supported")

    given = {
        "NVMLError": NVMLError,
        "NVML_CLOCK_SM": 1,
        "NVML_CLOCK_MEM": 2,
        "nvmlDeviceGetHandleByPciBusId": handle,
        "nvmlDeviceGetCurrentClocksEventReasons": lambda gpu: reasons,
        "nvmlDeviceGetEnforcedPowerLimit": lambda gpu: 300_000,
        "nvmlDeviceGetMaxClockInfo": lambda gpu, clock: {1: 1980, 2: 2619}[clock],
        "nvmlDeviceGetApplicationsClock": lambda gpu, clock: 1410 if clock == 1 else unsupported(),
        "nvmlDeviceGetComputeRunningProcesses": lambda gpu: [SimpleNamespace(pid=7), SimpleNamespace(pid=8)],
    }
    return SimpleNamespace(**given | more)


@pytest.mark.parametrize(
    ("bits", "reasons"),
    [
        (0x0, ()),
        (0x1 | 0x4, ()),  # it is idle, or at its power limit, which is a setting
        (0x40, ("GPU hardware thermal slowdown",)),
        (0x8 | 0x80 | 0x20, ("GPU hardware slowdown", "GPU software thermal slowdown", "GPU power brake")),
    ],
)
def test_what_slows_a_gpu_down_is_named(bits: int, reasons: tuple[str, ...]) -> None:
    assert nvml.Device("0000:41:00.0", library(bits)).throttled_by() == reasons
    of_before = library(nvmlDeviceGetCurrentClocksThrottleReasons=lambda gpu: bits)
    del of_before.nvmlDeviceGetCurrentClocksEventReasons
    assert nvml.Device("0000:41:00.0", of_before).throttled_by() == reasons


def test_settings_and_processes_are_what_the_driver_says() -> None:
    gpu = nvml.Device("0000:41:00.0", library())
    assert gpu.settings() == {
        "power limit": "300 W",
        "largest SM clock": "1980 MHz",
        "chosen SM clock": "1410 MHz",
        "largest memory clock": "2619 MHz",
    }
    assert gpu.processes() == {7, 8}


def test_what_a_gpu_does_not_report_is_left_out() -> None:
    gpu = nvml.Device("0000:00:00.0", library())
    assert not gpu.is_known
    assert (gpu.throttled_by(), gpu.settings(), gpu.processes()) == ((), {}, set())


def test_the_power_limit_is_part_of_the_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(name="H100", capability=(9, 0), memory_bytes=80 * 2**30, bus="0000:41:00.0")
    prints = set()
    for watts in (300, 400):
        given = library(nvmlDeviceGetEnforcedPowerLimit=lambda gpu, watts=watts: watts * 1000)
        monkeypatch.setattr(nvml, "library", lambda given=given: given)
        monkeypatch.setattr("pytest_ngraph.machine.gpus.found", lambda: (gpu,))
        found = machine.this_machine.__wrapped__()  # this machine, but for the GPU
        assert f"power limit {watts} W" in found.power
        assert machine.Machine.from_dict(found.to_dict()) == found
        prints.add(found.fingerprint)
    assert len(prints) == 2


def test_a_jetson_names_its_power_mode_and_whether_its_clocks_are_held(tmp_path: Any) -> None:
    clock = tmp_path / "sys/class/devfreq/17000000.gpu"
    clock.mkdir(parents=True)
    for name, hertz in (("min_freq", "306000000"), ("max_freq", "1300500000")):
        (clock / name).write_text(f"{hertz}\n")
    says = ("echo", "NV Power Mode: MAXN\n0")
    assert jetson.settings(tmp_path, says) == {
        "nvpmodel": "MAXN",
        "jetson_clocks": "off: 306000000 to 1300500000 Hz",
    }
    (clock / "min_freq").write_text("1300500000\n")
    assert jetson.settings(tmp_path, says)["jetson_clocks"] == "on"
    assert jetson.settings(tmp_path / "none", ("no-such-program",)) == {}


def test_the_memory_of_a_process_is_what_the_driver_says() -> None:
    running = [SimpleNamespace(pid=7, usedGpuMemory=2**29), SimpleNamespace(pid=8, usedGpuMemory=None)]
    gpu = nvml.Device("0000:41:00.0", library(nvmlDeviceGetComputeRunningProcesses=lambda gpu: running))
    assert gpu.held_by(7) == 2**29
    assert gpu.held_by(8) is None, "a driver that does not report it"
    assert gpu.held_by(9) is None, "another process"
