"""Throttling, from the files of Linux's thermal framework as an ARM board has them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pytest_ngraph.comparison import PairedRound, is_disturbed
from pytest_ngraph.machine.nvml import Device
from pytest_ngraph.machine.throttling import Throttling


class Gpu:
    """A GPU that is hot, with two processes."""

    is_known = True

    def throttled_by(self) -> tuple[str, ...]:
        return ("GPU hardware thermal slowdown",)

    def processes(self) -> set[int]:
        return {7, 8}


@pytest.fixture
def thermal(tmp_path: Path) -> Path:
    """Return a folder like `/sys/class/thermal` of a Raspberry Pi or a Jetson."""
    for number, kind in enumerate(("pwm-fan", "cpufreq-cpu0", "cpufreq-cpu4", "17000000.gpu")):
        folder = tmp_path / f"cooling_device{number}"
        folder.mkdir()
        (folder / "type").write_text(f"{kind}\n")
        (folder / "cur_state").write_text("3\n" if kind == "pwm-fan" else "0\n")
    return tmp_path


def test_a_limit_on_clocks_is_throttling_and_a_fan_is_not(thermal: Path) -> None:
    watch = Throttling(thermal=thermal)
    assert watch.now() == ()
    (thermal / "cooling_device2" / "cur_state").write_text("1\n")
    assert watch.now() == ("cpufreq-cpu4",)
    assert watch.others(list) is None


@pytest.mark.parametrize("folder", ["soc/soc:firmware", "soc@107c000000/soc@107c000000:firmware"])
def test_the_firmware_of_a_raspberry_pi_is_asked(thermal: Path, tmp_path: Path, folder: str) -> None:
    """The lower bits are of now, the upper ones of all the time since it was started."""
    file = tmp_path / folder / "get_throttled"
    file.parent.mkdir(parents=True)
    file.write_text("0\n")
    watch = Throttling(thermal=thermal, platform=tmp_path)
    for said, slowed in (
        ("0", ()),
        ("4", ("firmware: throttled",)),
        ("a", ("firmware: clock capped", "firmware: soft temperature limit")),
        ("e0000", ()),
        ("50005", ("firmware: throttled",)),
        ("", ()),
        ("none", ()),
    ):
        file.write_text(f"{said}\n")
        assert watch.now() == slowed


def test_a_gpu_is_asked_too(thermal: Path) -> None:
    watch = Throttling(cast("Device", Gpu()), thermal)
    assert watch.now() == ("GPU hardware thermal slowdown",)
    assert watch.others(lambda: [8]) == 1


@pytest.mark.parametrize(("running", "others"), [({31245, 31246}, None), ({7, 8, 31245}, 1), ({7}, 0), (set(), 0)])
def test_ids_of_a_containers_host_say_nothing_of_others(running: set[int], others: int | None) -> None:
    class Nvml:
        NVMLError = LookupError

        def nvmlDeviceGetHandleByPciBusId(self, bus: str) -> str:  # noqa: N802
            return bus

        def nvmlDeviceGetComputeRunningProcesses(self, _: str) -> list[SimpleNamespace]:  # noqa: N802
            return [SimpleNamespace(pid=pid) for pid in running]

    assert Throttling(Device("0000:01:00.0", Nvml())).others(lambda: {7, 8}) == others


def test_a_round_under_throttling_is_disturbed() -> None:
    assert not is_disturbed(PairedRound(quads=(), elapsed_s=1.0))
    assert is_disturbed(PairedRound(quads=(), elapsed_s=1.0, throttled_by="cpufreq-cpu4"))
