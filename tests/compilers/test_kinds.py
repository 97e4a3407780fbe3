"""Kinds of devices. None but the CPU is at hand: files of the system and functions of PyTorch stand in for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from compiled import Export

from pytest_ngraph.artifact import Target
from pytest_ngraph.case import Case
from pytest_ngraph.compilers import InHostTime, kinds, resolve
from pytest_ngraph.errors import Unsupported, UsageError
from pytest_ngraph.machine.devices import BUILT_IN, Device, load_inventory
from pytest_ngraph.machine.machine import Machine, this_machine
from pytest_ngraph.worker.worker import Worker

CONV = Case(workload="conv", compiler="identity", batch_size=1, depth=1, width=16)


def with_accelerators(*found: str) -> Machine:
    return Machine.from_dict(this_machine().to_dict() | {"accelerators": list(found)})


def test_each_kind_is_one_file() -> None:
    folder = Path(kinds.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "kind"}
    assert set(kinds.names()) == files == {"cpu", "cuda", "mps", "npu", "rocm", "tpu", "xpu"}
    for name in files:
        assert kinds.named(name).torch or name in ("npu", "tpu")


@pytest.mark.parametrize(
    ("kind", "files", "found"),
    [
        ("xpu", {"sys/class/drm/renderD128/device": ("0x8086", "0x56a0", "0x030000")}, ("0x8086:0x56a0",)),
        ("rocm", {"sys/class/drm/renderD128/device": ("0x1002", "0x740f", "0x038000")}, ()),
        ("rocm", {"sys/class/drm/renderD128/device": ("0x1002", "0x740f", "0x03"), "dev/kfd": ()}, ("0x1002:0x740f",)),
        ("npu", {"sys/class/accel/accel0/device": ("0x8086", "0x7d1d", "0x120000")}, ("0x8086:0x7d1d",)),
        ("tpu", {"sys/bus/pci/devices/0000:00:04.0": ("0x1ae0", "0x0042", "0x020000")}, ()),
        ("tpu", {"sys/bus/pci/devices/0000:00:05.0": ("0x1ae0", "0x0062", "0x120000")}, ("0x1ae0:0x0062",)),
        ("mps", {}, ()),
        ("cpu", {}, ()),
    ],
)  # fmt: skip
def test_a_kind_is_found_in_the_files_of_the_system(
    kind: str, files: dict[str, Any], found: tuple[str, ...], tmp_path: Path
) -> None:
    for name, numbers in files.items():
        (tmp_path / name).mkdir(parents=True)
        for part, number in zip(("vendor", "device", "class"), numbers or (), strict=False):
            (tmp_path / name / part).write_text(f"{number}\n")
    assert kinds.named(kind).found(tmp_path) == found


def test_a_profile_chooses_one_of_several_by_index(tmp_path: Path) -> None:
    (tmp_path / "devices.toml").write_text("[second]\nkind = 'xpu'\nindex = 1\n")
    second = load_inventory(tmp_path / "devices.toml")["second"]
    assert second.target(CONV).index == 1
    assert second.absent(with_accelerators("xpu 0x8086:0x56a0", "xpu 0x8086:0x56c0", "npu 0x8086:0x7d1d")) == ""
    assert "is xpu 1, but this machine has 0: 0x8086:0x56a0" in second.absent(with_accelerators("xpu 0x8086:0x56a0"))
    assert "needs a device of kind xpu" in second.absent(with_accelerators())
    assert BUILT_IN["gpu"].index == 0
    assert kinds.device(second.target(CONV)) == "xpu:1"


@pytest.mark.parametrize(
    ("environment", "index", "visible"),
    [({}, 1, "1"), ({"CUDA_VISIBLE_DEVICES": "2,3"}, 1, "3"), ({"CUDA_VISIBLE_DEVICES": "GPU-8f1c"}, 0, "GPU-8f1c")],
)
def test_a_worker_sees_only_the_gpu_that_it_uses(environment: dict[str, str], index: int, visible: str) -> None:
    assert kinds.named("cuda").only(index, environment) == {"CUDA_VISIBLE_DEVICES": visible}
    assert kinds.named("cpu").only(index, environment) == {}


@pytest.mark.parametrize("variable", ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
@pytest.mark.parametrize(
    ("listed", "found"),
    [
        ("", ("0x1002:0x740f", "0x1002:0x73bf")),
        ("0", ("0x1002:0x740f",)),
        ("1", ("0x1002:0x73bf",)),
        ("1,0", ("0x1002:0x73bf", "0x1002:0x740f")),
        ("GPU-8f1c", ("GPU-8f1c",)),
        ("0,2,1", ("0x1002:0x740f",)),
        ("-1", ()),
    ],
)
def test_amds_gpus_that_the_user_hides_are_not_there(
    listed: str, found: tuple[str, ...], variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its libraries take those that are listed, in that order, up to the first that there is not."""
    (tmp_path / "dev/kfd").mkdir(parents=True)
    for number, device in enumerate(("0x740f", "0x73bf")):
        folder = tmp_path / f"sys/class/drm/renderD{128 + number}/device"
        folder.mkdir(parents=True)
        (folder / "vendor").write_text("0x1002\n")
        (folder / "device").write_text(f"{device}\n")
    for each in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(variable, listed)
    assert kinds.named("rocm").found(tmp_path) == found
    second = Device(name="second", kind="rocm", index=1)
    machine = with_accelerators(*(f"rocm {each}" for each in found))
    assert bool(second.absent(machine)) is (len(found) < 2)


@pytest.mark.parametrize(("kind", "variable"), [("rocm", "HIP_VISIBLE_DEVICES"), ("cuda", "CUDA_VISIBLE_DEVICES")])
def test_a_worker_gets_no_gpu_that_the_user_hides(kind: str, variable: str) -> None:
    assert kinds.named(kind).only(0, {variable: "1"}) == {variable: "1"}
    with pytest.raises(UsageError, match=f"{variable}=0 lists no device of index 1. .* up to 0"):
        kinds.named(kind).only(1, {variable: "0"})


def test_amds_gpus_are_chosen_as_nvidias_unless_hips_own_variable_does() -> None:
    rocm, chosen = kinds.named("rocm"), {"CUDA_VISIBLE_DEVICES": "3,5"}
    assert [rocm.only(index, chosen) for index in (0, 1)] == [{"HIP_VISIBLE_DEVICES": name} for name in ("3", "5")]
    assert rocm.only(0, chosen | {"HIP_VISIBLE_DEVICES": "2"}) == {"HIP_VISIBLE_DEVICES": "2"}
    assert rocm.only(0, chosen | {"HIP_VISIBLE_DEVICES": ""}) == {"HIP_VISIBLE_DEVICES": "3"}
    with pytest.raises(UsageError, match=r"^CUDA_VISIBLE_DEVICES=3,5 lists no device of index 2"):
        rocm.only(2, chosen)


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have the CPU stand in for Apple's GPU, and return how often somebody waited for it."""
    waits: list[str] = []
    monkeypatch.setattr(type(kinds.named("mps")), "torch", "cpu")
    monkeypatch.setattr(torch.mps, "synchronize", lambda: waits.append("mps"))
    return waits


def test_identity_on_apples_gpu_is_timed_until_its_work_is_done(
    exported: Export, tmp_path: Path, waited: list[str]
) -> None:
    model = resolve("identity").load(exported(CONV), Target(kind="mps", cores=(0,)), tmp_path)
    assert model.facts["provider"] == "mps"
    model()
    assert not waited, "a call by itself may return before its work is done"
    InHostTime(model)()
    assert waited == ["mps", "mps"]
    model.close()


def test_a_worker_times_calls_that_are_waited_for_and_beside_them_those_that_are_not(
    exported: Export, monkeypatch: pytest.MonkeyPatch, waited: list[str]
) -> None:
    monkeypatch.setattr(torch.mps, "recommended_max_memory", lambda: 2**34)
    monkeypatch.setattr(torch.mps, "driver_allocated_memory", lambda: 2**30)
    worker = Worker(announce=lambda phase: None)
    of, artifact = CONV.to_dict(), exported(CONV).to_dict()
    answer = worker.prepare(
        case=of, artifact=artifact, target=Target(kind="mps", cores=(0,)).to_dict(), warmup_s=0.01, round_s=0.01
    )
    assert answer["pipelined_s"] > 0
    assert answer["device_memory"] == (1 / 16, 0.0)
    waited.clear()
    worker.measure(calls=3)
    assert len(waited) == 2 * 3, "before and after each call"
    assert worker.release(kind="mps")["device_memory_bytes"] == 0
    answer = worker.prepare(
        case=of, artifact=artifact, target=Target(cores=(0,)).to_dict(), warmup_s=0.01, round_s=0.01
    )
    assert (answer["pipelined_s"], answer["device_memory"]) == (None, None)
    worker.close()


def test_pytorch_has_no_npu() -> None:
    with pytest.raises(Unsupported, match="PyTorch has no devices of kind npu"):
        kinds.device(Target(kind="npu"))
    assert Device(name="n", kind="npu").target(CONV).kind == "npu"
