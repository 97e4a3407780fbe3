"""A cluster as a session sees it, over a fake connection."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from cluster.devices import ORIN

from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.cluster.client.site import SETTLING_S, ClusterSite
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.versions import HERE
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.machine import power_now, this_machine
from pytest_ngraph.settings import Settings
from pytest_ngraph.wording import counted


class Broken:
    """A link that shows a device, but fails on every question to it."""

    address = "tcp://head:8786"
    engine = ""
    unreadable: ClassVar[dict[str, str]] = {}

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    def present(self) -> list[JoinedDevice]:
        return [ORIN]

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        raise ConnectionError("no connection to tcp://head:8786")


class Mixed(Broken):
    """A link with a second device, which has a later version and reports more about its machine."""

    def present(self) -> list[JoinedDevice]:
        late = {**ORIN.environment, "pytest-ngraph": "9.0"}
        machine: dict[str, list[str]] = {"accelerators": []}
        return [ORIN, dataclasses.replace(ORIN, name="nano", pool="nano", machine=machine, environment=late)]


class Elsewhere(Broken):
    """A link to a device with another Python and other libraries than this machine."""

    def present(self) -> list[JoinedDevice]:
        return [dataclasses.replace(ORIN, environment={**ORIN.environment, "python": "3.10.1", "torch": "2.0.0"})]


class Unequal(Broken):
    """A link to two machines of a pool that differ in one thing."""

    differing: ClassVar[dict[str, str]] = {}

    def present(self) -> list[JoinedDevice]:
        other = dataclasses.replace(ORIN, name="orin-2", environment={**ORIN.environment, **self.differing})
        return [ORIN, other]


class Odd(Broken):
    """A link to a device whose machine makes no sense, and one whose whole report makes none."""

    unreadable: ClassVar[dict[str, str]] = {"nano": "KeyError: 'pool'"}

    def present(self) -> list[JoinedDevice]:
        return [dataclasses.replace(ORIN, machine={"cores": 7})]


class OtherEngines(Broken):
    """A link to a scheduler and a device with other versions of the engine."""

    engine = "2025.1.0"
    unreadable: ClassVar[dict[str, str]] = {"nano": "KeyError: 'pool'"}
    user = "anna@head"

    def listen(self, topic: str, hear: Any) -> None:
        """Do nothing: no device sends messages."""

    def present(self) -> list[JoinedDevice]:
        return [dataclasses.replace(ORIN, engine="2024.9.1")]


@pytest.fixture
def connected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ClusterSite]:
    def connect(link: type, **options: Any) -> ClusterSite:
        monkeypatch.setattr("pytest_ngraph.cluster.client.site.Link", link)
        monkeypatch.setattr("pytest_ngraph.cluster.engine_settings.settle", lambda: None)
        return ClusterSite(cast("Endpoint", None), tmp_path, **options)

    return connect


@pytest.fixture
def passing(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time in seconds, which passes only when somebody waits."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


def test_a_device_of_another_version_is_one_message(connected: Callable[..., ClusterSite]) -> None:
    cluster = connected(Mixed)
    words = f"{this_machine().processor}, {counted(len(this_machine().cores), 'core')}"
    assert cluster.describe(["orin", "nano"]) == f"cluster {Mixed.address}: orin ({words}), nano ({words})"
    assert cluster.host("orin").machine == this_machine()
    with pytest.raises(
        UsageError, match=r"device nano has pytest-ngraph 9\.0, but this machine has .* Install the same there"
    ):
        cluster.host("nano")


def test_python_and_libraries_of_a_device_may_be_others(connected: Callable[..., ClusterSite]) -> None:
    host = connected(Elsewhere).host("orin")
    assert (host.python, host.libraries["torch"]) == ("3.10.1", "2.0.0")


@pytest.mark.parametrize("fact", ["fingerprint", "python", "torch"])
def test_machines_of_a_pool_that_differ_are_refused(connected: Callable[..., ClusterSite], fact: str) -> None:
    class Differing(Unequal):
        differing: ClassVar[dict[str, str]] = {fact: "another"}

    with pytest.raises(UsageError, match="the machines of device orin differ") as refused:
        connected(Differing).host("orin")
    assert f"{fact} is {ORIN.environment[fact]} on orin-1 and another on orin-2" in str(refused.value)
    assert connected(Unequal).host("orin").machine == this_machine()


def test_a_machine_of_a_pool_that_is_not_there_is_named(connected: Callable[..., ClusterSite]) -> None:
    with pytest.raises(UsageError, match=r"orin-9 is not in the cluster .*; devices there: orin \(free\), orin-1"):
        connected(Broken).require(["orin-1", "orin-9", "orin"])


def test_a_device_whose_report_makes_no_sense_is_named(connected: Callable[..., ClusterSite]) -> None:
    cluster = connected(Odd)
    with pytest.raises(UsageError, match=r"device orin-1's report on its machine cannot be read .* start it again"):
        cluster.host("orin")
    with pytest.raises(UsageError, match=r"nano is not in .*: nano \(its report cannot be read: KeyError: 'pool'\)"):
        cluster.host("nano")


class Late(Broken):
    """A link to a cluster that the device joins after it was looked at a few times."""

    looks = 0

    def present(self) -> list[JoinedDevice]:
        self.looks += 1
        return [ORIN] if self.looks > 3 else []


def test_a_device_that_only_a_mark_names_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.cluster.client.site.Link", Late)
    monkeypatch.setattr("pytest_ngraph.cluster.client.site.POLL_S", 0.001)
    monkeypatch.setattr("pytest_ngraph.cluster.engine_settings.settle", lambda: None)
    with pytest.raises(UsageError, match=r"orin is not in the cluster .* wait for it: --ngraph-wait-for-devices"):
        ClusterSite(cast("Endpoint", None), tmp_path).host("orin")
    site = ClusterSite(cast("Endpoint", None), tmp_path, wait_s=60.0)
    site.require([])
    assert site.host("orin").machine == this_machine()


def test_the_time_to_wait_is_that_of_the_session(connected: Callable[..., ClusterSite], passing: list[float]) -> None:
    site = connected(Broken, wait_s=5.0)
    for _ in range(2):
        with pytest.raises(UsageError, match="nano is not in the cluster"):
            site.host("nano")
    assert passing == [5.0]


class SetOtherwise(Broken):
    """A link to a board whose power mode was changed, which leaves, and joins again with it.

    Attributes:
        measures_for_others: how many looks find that it measures, still with the mode of before.
    """

    looks = 0
    measures_for_others = 0

    def present(self) -> list[JoinedDevice]:
        self.looks += 1
        looks = self.looks - self.measures_for_others
        if looks == 3:
            return []
        power = ["nvpmodel MAXN" if looks > 3 else "nvpmodel 15W"]
        gpu = {"name": "Orin", "capability": "8.7", "memory_bytes": 2**33}
        machine = {**ORIN.machine, "gpus": [gpu], "power": power}
        return [dataclasses.replace(ORIN, machine=machine, state="busy" if looks < 1 else "free")]

    def run(self, function: Any, *arguments: Any, on: list[str], **keywords: Any) -> Any:
        assert function is power_now
        return {address: ["nvpmodel MAXN"] for address in on}


class MeasuresForOthers(SetOtherwise):
    """It measures a group of another session for five minutes."""

    measures_for_others = 150


class MeasuresForLong(SetOtherwise):
    measures_for_others = 15_000


class NeverJoinsAgain(SetOtherwise):
    def present(self) -> list[JoinedDevice]:
        self.looks = 0
        return super().present()


@pytest.mark.parametrize(("link", "looks", "said"), [(SetOtherwise, 3, 0), (MeasuresForOthers, 153, 1)])
def test_a_device_whose_machine_is_set_otherwise_is_waited_for(
    connected: Callable[..., ClusterSite], passing: list[float], link: type, looks: int, said: int
) -> None:
    """Records of a session that begins before it has joined again would fail: they differ from what it has reported."""
    heard: list[str] = []
    site = connected(link, on_wait=heard.append)
    assert site.host("orin").machine.power == ("nvpmodel MAXN",)
    assert passing == [looks * SETTLING_S]
    assert heard == ["orin-1 measures for others, and joins again then, as its machine is set otherwise now"] * said


@pytest.mark.parametrize(("link", "seconds"), [(NeverJoinsAgain, 60), (MeasuresForLong, 900)])
def test_a_device_that_does_not_join_again_is_one_message(
    connected: Callable[..., ClusterSite], passing: list[float], link: type, seconds: int
) -> None:
    words = rf"set otherwise .*: orin-1 \(nvpmodel MAXN\)\. It has not joined again within {seconds} s, and its records"
    with pytest.raises(UsageError, match=words):
        connected(link).host("orin")
    assert passing == [seconds]


def test_other_versions_of_the_engine_are_named(
    connected: Callable[..., ClusterSite], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    noted: list[str] = []

    def unused(*arguments: object) -> Any:
        raise AssertionError(arguments)

    work = WorkOrder(
        settings=Settings(smoke=True),
        profiles={},
        groups=[],
        progress=Silent(),
        run_id=unused,
        enter=unused,
        describe_device=unused,
        note=noted.append,
    )
    connected(OtherEngines).open(work)
    assert noted == [
        f"distributed is {HERE} here and 2025.1.0 on the scheduler, 2024.9.1 on orin-1: if the cluster misbehaves, "
        "install one version everywhere.",
        "device nano is left out, because its report cannot be read: KeyError: 'pool'",
    ]


def test_a_device_that_does_not_answer_is_one_message(connected: Callable[..., ClusterSite]) -> None:
    cluster = connected(Broken)
    host = cluster.host("orin")
    with pytest.raises(
        UsageError, match=r"device orin-1 does not answer \(ConnectionError: no connection .* device list"
    ):
        host.is_importable("no_such_library_here")
