from __future__ import annotations

import dataclasses
import json
import os
import sys

import psutil
import pytest

from pytest_ngraph.machine import cgroup
from pytest_ngraph.machine.gpus import Gpu
from pytest_ngraph.machine.machine import Machine, described, environment, memory_share_in_use, this_machine


def test_cores_are_usable_and_one_per_physical_core() -> None:
    cores = this_machine().cores
    assert 1 <= len(cores) <= (psutil.cpu_count(logical=False) or os.cpu_count() or 1)
    if sys.platform == "linux":
        assert set(cores) <= os.sched_getaffinity(0)


def test_fingerprint_changes_with_what_changes_timings() -> None:
    machine = this_machine()
    assert dataclasses.replace(machine, processor="other").fingerprint != machine.fingerprint
    assert dataclasses.replace(machine, cores=(0,) * 99).fingerprint != machine.fingerprint
    assert dataclasses.replace(machine, memory_bytes=machine.memory_bytes + 4096).fingerprint == machine.fingerprint


X86 = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Processor\nflags\t\t: fpu avx512f\n\nprocessor\t: 1\n"
GRAVITON = "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n"
ORIN = "processor\t: 0\nmodel name\t: ARMv8 Processor rev 1 (v8l)\nFeatures\t: fp asimd\nCPU part\t: 0xd42\n"


@pytest.mark.parametrize(
    ("cpuinfo", "board", "expected"),
    [
        (X86, "", ("Intel(R) Xeon(R) Processor", {"fpu", "avx512f"})),
        (GRAVITON, "", ("implementer 0x41, part 0xd40", {"fp", "asimd"})),
        (ORIN, "Jetson AGX Orin", ("Jetson AGX Orin, ARMv8 Processor rev 1 (v8l)", {"fp", "asimd"})),
        ("", "", ("", set())),
    ],
)
def test_a_processor_is_described_by_what_linux_reports(
    cpuinfo: str, board: str, expected: tuple[str, set[str]]
) -> None:
    assert described(cpuinfo, board) == (expected[0], frozenset(expected[1]))


def test_a_driver_that_keeps_some_of_the_gpus_memory_makes_no_other_machine() -> None:
    gpu = Gpu(name="H100", capability=(9, 0), memory_bytes=80 * 2**30)
    first, second = (
        dataclasses.replace(this_machine(), gpus=(dataclasses.replace(gpu, memory_bytes=gpu.memory_bytes - kept),))
        for kept in (0, 2**20)
    )
    assert first.fingerprint == second.fingerprint != this_machine().fingerprint


def test_a_machine_survives_being_written_and_read() -> None:
    gpu = Gpu(name="Orin", capability=(8, 7), memory_bytes=2**33)
    machine = dataclasses.replace(this_machine(), gpus=(gpu,))
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine


def test_memory_is_as_full_as_that_of_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "memory_bytes", lambda: 100)
    monkeypatch.setattr(cgroup, "memory_in_use", lambda: 99)
    assert memory_share_in_use() == 0.99
    assert this_machine.__wrapped__().memory_bytes == 100


@pytest.mark.parametrize("key", ["fingerprint", "processor", "cores", "memory", "python", "torch", "pytest-ngraph"])
def test_environment_names_what_a_reader_of_results_needs(key: str) -> None:
    assert environment()[key]
