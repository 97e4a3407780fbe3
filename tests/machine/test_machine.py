from __future__ import annotations

import dataclasses
import json
import os
import sys

import psutil
import pytest

from pytest_ngraph.machine import cgroup, machine
from pytest_ngraph.machine.gpus import Gpu
from pytest_ngraph.machine.machine import Machine, environment, is_same_machine, memory_share_in_use, this_machine


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


def test_two_generations_of_one_name_are_two_machines() -> None:
    """Virtual machines name Skylake and Sapphire Rapids alike: `Intel(R) Xeon(R) Processor`."""
    sapphire = dataclasses.replace(
        this_machine(), architecture="x86_64", model="family 6 model 143", instruction_sets=frozenset({"avx2"})
    )
    for changed in (
        {"model": "family 6 model 85"},
        {"microcode": "0x2b000604"},
        {"instruction_sets": frozenset({"avx2", "amx_tile"})},
    ):
        other = dataclasses.replace(sapphire, **changed)
        assert other.fingerprint != sapphire.fingerprint
        assert other.earlier_fingerprint == sapphire.earlier_fingerprint


def test_a_new_kernel_that_reports_more_flags_makes_no_other_machine() -> None:
    before = dataclasses.replace(this_machine(), architecture="x86_64", instruction_sets=frozenset({"avx2"}))
    after = dataclasses.replace(before, instruction_sets=frozenset({"avx2", "ibpb_exit_to_user", "bhi_ctrl"}))
    assert before.fingerprint == after.fingerprint


def test_a_machine_of_which_no_more_is_known_keeps_its_fingerprint() -> None:
    plain = dataclasses.replace(this_machine(), model="", microcode="", instruction_sets=frozenset(), power=())
    assert plain.fingerprint == plain.earlier_fingerprint


def test_a_stored_environment_is_compared_by_what_it_knows() -> None:
    now = environment()
    assert is_same_machine(now, now)
    assert not is_same_machine(now | {"fingerprint": "0123"}, now), "of the same name, but another generation"
    stored = {"fingerprint": now["earlier fingerprint"]}
    assert is_same_machine(stored, now), "stored by an earlier version"
    assert not is_same_machine({"fingerprint": "0123"}, now)
    assert not is_same_machine({}, now)


@pytest.mark.parametrize(
    ("gib", "other", "is_same"),
    [(15.49, {}, True), (15.51, {}, True), (31.4, {}, False), (15.49, {"microcode": "no such"}, False)],
)
def test_a_kernel_that_reports_other_memory_makes_no_other_machine(
    gib: float, other: dict[str, str], is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def facts(gib: float, **other: str) -> dict[str, str]:
        found = dataclasses.replace(this_machine(), memory_bytes=int(gib * 2**30), **other)  # type: ignore[arg-type]
        with monkeypatch.context() as patched:
            patched.setattr(machine, "this_machine", lambda: found)
            return environment()

    then, now = facts(gib, **other), facts(15.51)
    assert is_same_machine(then, now) == is_same_machine(now, then) == is_same


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
    groups = [cgroup.Memory(200, 99), cgroup.Memory(100, 99), cgroup.Memory(150, None)]
    monkeypatch.setattr(cgroup, "memory", lambda process=None: groups)
    assert memory_share_in_use() == 0.99
    assert this_machine.__wrapped__().memory_bytes == 100


@pytest.mark.parametrize("key", ["fingerprint", "processor", "cores", "memory", "python", "torch", "pytest-ngraph"])
def test_environment_names_what_a_reader_of_results_needs(key: str) -> None:
    assert environment()[key]
