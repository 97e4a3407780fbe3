from __future__ import annotations

import dataclasses
import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from pytest_ngraph import cgroup
from pytest_ngraph.machine import Gpu, Machine, environment, is_importable, memory_share_in_use, this_machine, variables


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


def test_what_another_machine_tells_of_itself_is_understood() -> None:
    gpu = Gpu(name="Orin", capability=(8, 7), memory_bytes=2**33)
    machine = dataclasses.replace(this_machine(), gpus=(gpu,))
    assert Machine.from_dict(json.loads(json.dumps(machine.to_dict()))) == machine


@pytest.mark.parametrize(
    ("module", "expected"),
    [("json", True), ("json.decoder", True), ("no_such", False), ("no_such.part", False), ("", False)],
)
def test_a_module_is_found_without_importing_it(module: str, expected: bool) -> None:
    assert is_importable(module) is expected


def test_a_folder_that_has_a_librarys_name_is_not_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tensorrt_like").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not is_importable("tensorrt_like")


def test_memory_is_as_full_as_that_of_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "memory_bytes", lambda: 100)
    monkeypatch.setattr(cgroup, "memory_in_use", lambda: 99)
    assert memory_share_in_use() == 0.99
    assert this_machine.__wrapped__().memory_bytes == 100


def test_what_sets_compilers_is_told_and_what_sets_our_workers_is_not() -> None:
    given = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "CXX": "clang++", "TVM_NUM_THREADS": "2", "HOME": "/root"}
    assert variables(given) == {"CXX": "clang++", "TORCHINDUCTOR_MAX_AUTOTUNE": "1"}


@pytest.mark.parametrize("key", ["fingerprint", "processor", "cores", "memory", "python", "torch", "pytest-ngraph"])
def test_environment_names_what_a_reader_of_results_needs(key: str) -> None:
    assert environment()[key]
