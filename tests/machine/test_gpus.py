from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from pytest_ngraph.machine import gpus
from pytest_ngraph.machine.gpus import Gpu

FOUND = [
    Gpu(name="NVIDIA H100", capability=(9, 0), memory_bytes=80 * 2**30, bus="0000:41:00.0"),
    Gpu(name="Orin", capability=(8, 7), memory_bytes=2**33, unified=True),
]


class Driver:
    """Stands in for the CUDA driver: writes its answers to where the caller points."""

    def __init__(self, initialised: int = 0) -> None:
        self._initialised = initialised

    def cuInit(self, flags: int) -> int:  # noqa: N802 (the driver's names)
        return self._initialised

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(FOUND)
        return 0

    def cuDeviceGetName(self, name: Any, length: int, index: int) -> int:  # noqa: N802
        name.value = FOUND[index].name.encode()
        return 0

    def cuDeviceTotalMem_v2(self, memory: Any, index: int) -> int:  # noqa: N802
        memory._obj.value = FOUND[index].memory_bytes
        return 0

    def cuDeviceGetPCIBusId(self, bus: Any, length: int, index: int) -> int:  # noqa: N802
        bus.value = FOUND[index].bus.encode()
        return 0

    def cuDeviceGetAttribute(self, value: Any, attribute: int, index: int) -> int:  # noqa: N802
        gpu = FOUND[index]
        value._obj.value = {75: gpu.capability[0], 76: gpu.capability[1], 18: int(gpu.unified)}[attribute]
        return 0


def test_the_driver_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver())
    assert gpus.found() == tuple(FOUND)


def test_a_driver_that_cannot_begin_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Driver(initialised=100))
    assert gpus.found() == ()


def test_without_a_driver_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert gpus.found() == ()


def test_the_drivers_version_is_what_the_kernel_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    version = tmp_path / "version"
    monkeypatch.setattr(gpus, "VERSION", version)
    assert gpus.driver_version() == ""
    version.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n")
    assert gpus.driver_version() == "535.129.03"


def test_names_are_listed_without_starting_cuda(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bus in ("0000:41:00.0", "0000:c1:00.0"):
        (tmp_path / bus).mkdir()
        (tmp_path / bus / "information").write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\n")
    monkeypatch.setattr(gpus, "LISTED", tmp_path)
    assert gpus.listed() == ["NVIDIA H200"] * 2
    monkeypatch.setattr(gpus, "LISTED", tmp_path / "missing")
    assert gpus.listed() == []
