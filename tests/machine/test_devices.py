from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.devices import BUILT_IN, Device, load_inventory, named
from pytest_ngraph.machine.gpus import Gpu
from pytest_ngraph.machine.machine import Machine, this_machine
from pytest_ngraph.machine.requirement import Requirement, parse_size

SERVER = Machine(
    architecture="x86_64",
    processor="Xeon",
    instruction_sets=frozenset({"avx2", "avx512f"}),
    cores=(0, 2, 4, 6),
    logical_cpus=8,
    memory_bytes=16 * 2**30,
    gpus=(),
    usable=tuple(range(8)),
)
WITH_GPU = dataclasses.replace(SERVER, gpus=(Gpu(name="RTX", capability=(8, 6), memory_bytes=12 * 2**30),))


def test_built_in_devices() -> None:
    assert set(load_inventory(None)) == {"cpu", "xeon", "gpu", "orin"}


@pytest.mark.parametrize(
    ("usable", "cores", "reason"),
    [
        (range(8), (1, 7), ""),
        (range(8), (1, 8), "device box needs core 8, but of this machine only 0 to 7 may be used"),
        (range(4, 8), (0, 1, 2, 4), "device box needs cores 0 to 2, but of this machine only 4 to 7 may be used"),
        ((0, 2, 4, 6, 16, 17, 18, 19), (16, 18), ""),
        ((0, 2, 16, 17), (1, 3), "device box needs cores 1, 3, but of this machine only 0, 2, 16 to 17 may be used"),
    ],
)
def test_cores_that_may_not_be_used(usable: Iterable[int], cores: tuple[int, ...], reason: str) -> None:
    machine = dataclasses.replace(SERVER, usable=tuple(usable))
    assert Device(name="box", cores=cores).absent(machine) == reason


def test_inventory_adds_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "devices.toml"
    path.write_text('[xeon]\nthreads = 2\ncompilers = ["identity"]\n[box]\nkind = "cuda"\ncores = [1, 3]\n')
    inventory = load_inventory(path)
    assert inventory["xeon"] == Device(name="xeon", threads=2, compilers=("identity",))
    assert inventory["box"] == Device(name="box", kind="cuda", cores=(1, 3))
    assert inventory["cpu"] == BUILT_IN["cpu"]


def test_inventory_names_pools_and_what_their_machines_have(tmp_path: Path) -> None:
    path = tmp_path / "devices.toml"
    path.write_text('[edge]\npool = ["edge-1", "edge-2"]\n[edge.requires]\nmemory = "32GiB"\nlibrary = "tvm"\n')
    edge = load_inventory(path)["edge"]
    assert edge.machines == ("edge-1", "edge-2", "edge")
    assert BUILT_IN["orin"].machines == ("orin",)
    assert edge.absent(SERVER, has_library=lambda name: name == "tvm") == "device edge lacks 32 GiB of memory"
    large = dataclasses.replace(SERVER, memory_bytes=32 * 2**30)
    assert edge.absent(large, has_library=lambda name: name == "tvm") == ""
    assert edge.absent(large, has_library=lambda _: False) == "device edge lacks the library tvm"


def test_a_profile_survives_being_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "devices.toml"
    path.write_text('[box]\nkind = "cuda"\ncores = [1]\npool = ["a"]\n[box.requires]\ncapability = [8, 7]\n')
    box = load_inventory(path)["box"]
    assert Device.from_dict(json.loads(json.dumps(box.to_dict()))) == box
    assert Device.from_dict(json.loads(json.dumps(BUILT_IN["cpu"].to_dict()))) == BUILT_IN["cpu"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[xeon", "cannot read"),
        ("[xeon]\nthread = 2\n", "unknown setting of device xeon.*'thread'.*'threads'"),
        ("[xeon]\nthreads = 0\n", "threads = 0 of device xeon is not a whole number from 1 up"),
        ("[xeon]\nkind = 'qpu'\n", "unknown kind of device xeon.*'qpu'.*cpu, cuda"),
        ("[xeon]\ncores = ['a']\n", "is not a list of logical CPU numbers, each once"),
        ("[xeon]\ncores = [0, 0]\n", "is not a list of logical CPU numbers, each once"),
        ("[xeon]\nthreads = 2\ncores = [0, 1, 2]\n", r"threads = 2 and cores = \[0, 1, 2\] of device xeon contradict"),
        ("xeon = 3\n", "'xeon' is not a table"),
        ("[xeon]\npool = 'a'\n", "pool = 'a' of device xeon is not a list of strings"),
        ("[xeon]\nrequires = 'a'\n", "requires = 'a' of device xeon is not a table"),
        ("[xeon.requires]\nram = 1\n", r"\[xeon.requires\] takes what the mark requires_device takes: unknown.*'ram'"),
    ],
)
def test_inventory_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "devices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load_inventory(path)


def test_inventory_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_inventory(tmp_path / "no.toml")


def test_target_takes_the_first_physical_cores(a_case: Case) -> None:
    assert Device(name="d", threads=2).target(a_case, SERVER).cores == (0, 2)
    assert Device(name="d").target(a_case, SERVER).threads == 4
    assert Device(name="d", cores=(6,)).target(a_case, SERVER).cores == (6,)


@pytest.mark.parametrize(
    ("device", "machine", "reason"),
    [
        (Device(name="d"), SERVER, ""),
        (Device(name="d", architecture="aarch64"), SERVER, "device d is aarch64, but this machine is x86_64"),
        (
            Device(name="d", kind="cuda"),
            SERVER,
            "device d needs a CUDA GPU, but the driver of this machine reports none",
        ),
        (Device(name="d", kind="cuda"), WITH_GPU, ""),
        (Device(name="d", threads=8), SERVER, "device d needs 8 cores, but this machine offers 4"),
    ],
)
def test_absent(device: Device, machine: Machine, reason: str) -> None:
    assert device.absent(machine) == reason


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"kind": "cuda"}, ""),
        ({"kind": "cpu"}, "device gpu lacks kind cpu"),
        ({"capability": (8, 0), "memory": "8GiB"}, ""),
        ({"capability": (9, 0)}, "device gpu lacks CUDA capability (9, 0)"),
        ({"memory": "13GiB"}, "device gpu lacks 13 GiB of memory"),
        ({"instruction_set": "avx512f"}, ""),
        ({"instruction_set": "amx_tile"}, "device gpu lacks instruction set amx_tile"),
        ({"architecture": "aarch64"}, "device gpu lacks architecture aarch64"),
        ({"library": "json"}, ""),
        ({"library": "no_such_library"}, "device gpu lacks the library no_such_library"),
    ],
)
def test_requirement(arguments: dict[str, object], reason: str) -> None:
    assert Requirement.parse(arguments).unmet(BUILT_IN["gpu"], WITH_GPU) == reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"knd": "cuda"}, "unknown argument of requires_device 'knd'. Did you mean 'kind'?"),
        ({"kind": "qpu"}, "unknown kind"),
        ({"memory": "lots"}, "'lots' is not a size"),
        ({"capability": 8}, r"give a pair such as \(8, 0\)"),
    ],
)
def test_requirement_that_cannot_be_read(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Requirement.parse(arguments)


@pytest.mark.parametrize(
    ("text", "expected"), [("8GiB", 2**33), ("512MiB", 2**29), ("1.5GB", 1_500_000_000), ("7B", 7)]
)
def test_sizes(text: str, expected: int) -> None:
    assert parse_size(text) == expected


def test_a_machine_may_have_a_little_less_memory_than_its_nominal_size() -> None:
    machine = dataclasses.replace(this_machine(), memory_bytes=int(7.63 * 2**30))
    assert Requirement.parse({"memory": "8GiB"}).unmet(BUILT_IN["cpu"], machine) == ""
    assert "lacks 9 GiB" in Requirement.parse({"memory": "9GiB"}).unmet(BUILT_IN["cpu"], machine)


def test_a_device_with_fewer_threads_has_a_name_of_its_own() -> None:
    inventory = BUILT_IN | {"pinned": Device(name="pinned", cores=(4, 6, 8))}
    assert named(inventory, "cpu") is BUILT_IN["cpu"]
    assert named(inventory, "cpu@2") == Device(name="cpu@2", threads=2)
    assert named(inventory, "pinned@2") == Device(name="pinned@2", threads=2, cores=(4, 6))
    for unknown in ("cpu@0", "cpu@x", "nothing@2", "nothing"):
        with pytest.raises(UsageError, match="unknown device"):
            named(inventory, unknown)
    with pytest.raises(UsageError, match="4 threads: device pinned has 3 cores"):
        named(inventory, "pinned@4")
