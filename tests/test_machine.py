from __future__ import annotations

import dataclasses
import os
import sys

import psutil
import pytest

from pytest_ngraph.machine import environment, this_machine


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


@pytest.mark.parametrize("key", ["fingerprint", "processor", "cores", "memory", "python", "torch", "pytest-ngraph"])
def test_environment_names_what_a_reader_of_results_needs(key: str) -> None:
    assert environment()[key]
