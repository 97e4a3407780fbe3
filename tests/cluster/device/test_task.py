"""What a device answers to a task, without a cluster, and with nothing that measures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin
from pytest_ngraph.cluster.device.policy import Policy
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.quiet import Quiet
from pytest_ngraph.cluster.device.reservation import Reservations
from pytest_ngraph.cluster.device.resident import Measured, Resident
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.machine.health import Health
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.cache import Cache

ADDRESS = "tcp://xeon"
CASES = (case("identity"),)
ASSIGNMENT = Assignment(
    session="s1",
    client="client",
    project="a1",
    folder=".",
    path=(),
    settings=Settings().to_dict(),
    device=Device(name="xeon", compilers=("identity",)).to_dict(),
    retries=1,
    retry_failed=False,
    threads=1,
    base=None,
)
DATA = Task(
    assignment=ASSIGNMENT, group=0, cases=CASES, bases={}, alone=(), calls=(), tails=(), served=(), profiled=(),
    figures=(), by="anna@head",
).to_dict()  # fmt: skip


class Delivered(Quiet):
    """The chores of a device whose client brings something while a task waits for its own turn."""

    deliver: Callable[[], None]

    def reserve(self, owner: str, on_wait: Callable[[str], None]) -> None:
        super().reserve(owner, on_wait)
        self.deliver()


class Measuring(Resident):
    def measure(self, task: Task, folder: DeviceFolder, report: object) -> Measured:
        return Measured([(0, {})], [])


@pytest.fixture
def quiet(tmp_path: Path) -> Iterator[Delivered]:
    quiet = Delivered(lock=tmp_path / "lock")
    quiet.deliver = lambda: None
    yield quiet
    quiet.close()


@pytest.fixture
def device(tmp_path: Path, quiet: Delivered, monkeypatch: pytest.MonkeyPatch) -> DevicePlugin:
    """The plugin of a device."""
    plugin = DevicePlugin(device="xeon", pool="xeon", folder=DeviceFolder(tmp_path), resident=Measuring(), quiet=quiet)
    monkeypatch.setattr(plugin, "health", Health)
    monkeypatch.setattr(Cache, "bound", lambda cache: None)
    worker = SimpleNamespace(address=ADDRESS, name="xeon", plugins={KEY: plugin})
    monkeypatch.setattr(task, "get_worker", lambda: worker)
    return plugin


def answer() -> dict[str, Any]:
    answered: dict[str, Any] = json.loads(task.measure(DATA))
    return answered


def test_a_device_measures_logs_and_answers(device: DevicePlugin) -> None:
    (device.folder.projects / "a1").mkdir(parents=True)
    assert answer() == {"rows": [[0, {}]], "again": []}
    (line,) = device.folder.audit.read_text().splitlines()
    expected = {"by": "anna@head", "projects": ["a1"], "session": "s1", "cases": [CASES[0].id], "device": "xeon"}
    assert json.loads(line).items() >= expected.items()
    assert "at" in json.loads(line)


def test_the_audit_log_is_written_before_anything_runs(device: DevicePlugin) -> None:
    (device.folder.projects / "a1").mkdir(parents=True)
    logged: list[str] = []

    class Looking(Measuring):
        def measure(self, task: Task, folder: DeviceFolder, report: object) -> Measured:
            logged.append(folder.audit.read_text())
            return super().measure(task, folder, report)

    device.resident = Looking()
    answer()
    assert "anna@head" in logged[0]


def test_what_is_measured_is_not_lost_if_a_device_cannot_clean_up(
    device: DevicePlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device.folder.projects / "a1").mkdir(parents=True)

    def denied(cache: Cache) -> None:
        raise PermissionError(13, "Permission denied", "/var/cache/compiled")

    monkeypatch.setattr(Cache, "bound", denied)
    said: list[str] = []
    device.say = said.append
    assert answer() == {"rows": [[0, {}]], "again": []}
    (line,) = said
    assert line.endswith("Permission denied: '/var/cache/compiled'")


def test_a_device_keeps_itself_free_for_what_it_asks_for(device: DevicePlugin) -> None:
    assert answer() == {"needs": ["a1"], "worker": ADDRESS}
    assert not device.quiet.begin("another")
    assert device.quiet.begin("client")


def test_what_comes_while_a_task_waits_is_not_asked_for(device: DevicePlugin, quiet: Delivered) -> None:
    """Otherwise the device would keep itself free for a delivery that nobody makes."""
    quiet.deliver = lambda: (device.folder.projects / "a1").mkdir(parents=True)
    assert answer() == {"rows": [[0, {}]], "again": []}
    assert device.quiet.begin("another")


def test_a_project_that_another_session_has_removed_is_asked_for_again(device: DevicePlugin) -> None:
    """Both have the same one. The other session ends after this task has looked whether it is there."""
    unpacked = device.folder.projects / "a1"
    unpacked.mkdir(parents=True)

    class Removed(Measuring):
        def measure(self, task: Task, folder: DeviceFolder, report: object) -> Measured:
            unpacked.rmdir()
            with Projects(folder.projects).held("a1"):
                return super().measure(task, folder, report)

    device.resident = Removed()
    assert answer() == {"needs": ["a1"], "worker": ADDRESS}
    assert device.quiet.begin("client")


def test_a_device_keeps_itself_free_for_no_client_that_has_gone(device: DevicePlugin) -> None:
    device.quiet.stop("client")
    assert answer() == {"stopped": True}
    assert device.quiet.begin("another")


def test_a_device_that_refuses_or_is_reserved_says_why(device: DevicePlugin, monkeypatch: pytest.MonkeyPatch) -> None:
    (device.folder.projects / "a1").mkdir(parents=True)
    device.policy = Policy(min_disk_bytes=2**30)
    monkeypatch.setattr(device, "health", lambda: Health(disk_bytes=2**20))
    assert answer() == {"refused": "1 MiB free disk, less than 1,024 MiB", "machine": "xeon"}
    assert Reservations(device.folder.reservation).reserve("ben@head", 60.0) is None
    assert answer()["reserved"]["by"] == "ben@head"
    assert not device.folder.audit.exists()


def test_what_goes_wrong_is_an_answer(device: DevicePlugin) -> None:
    (device.folder.projects / "a1").mkdir(parents=True)
    device.folder.audit.mkdir()
    assert "nothing is run here, because the audit log cannot be written" in answer()["failed"]
    assert json.loads(task.measure({}))["failed"].startswith("KeyError")
