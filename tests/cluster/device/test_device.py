"""A device that is stopped while something hangs, and one whose machine is set to run otherwise."""

from __future__ import annotations

import asyncio
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from distributed import Scheduler

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.device import condition, device
from pytest_ngraph.cluster.device.device import Member, Membership
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.cluster.security import Endpoint, endpoint
from pytest_ngraph.cluster.versions import HERE
from pytest_ngraph.machine import machine


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often what is measured was stopped."""
    times: list[str] = []
    monkeypatch.setattr(DevicePlugin, "close", lambda self: times.append("closed"))
    return times


def leaving(said: list[str], stops: int) -> bool:
    """Return whether a device that is stopped so many times, while it measures, stops its measurement."""

    async def leave() -> bool:
        scheduler = endpoint("tcp://127.0.0.1:8786", None, part="measure", insecure=True)
        folder = DeviceFolder(Path("not-used"))
        member = Member(Membership(name="xeon", pool="xeon", scheduler=scheduler, folder=folder), said.append)
        for _ in range(stops):
            member.stop()
        await asyncio.sleep(0.01)
        return member._hurried.is_set()

    return asyncio.run(leave())


def test_a_measurement_that_hangs_is_given_back_after_a_while(
    closed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    assert not leaving(said, stops=1)
    assert (closed, said) == ([], [])
    monkeypatch.setattr(device, "STOP_S", 0.0)
    assert leaving(said, stops=1)
    assert closed == ["closed"]
    assert "is given back" in said[0]


def test_the_second_stop_does_not_wait(closed: list[str]) -> None:
    assert leaving([], stops=2)
    assert closed == ["closed"]


def test_a_device_steps_back_and_keeps_no_project_from_before_or_afterwards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of a client that was killed, as of one that is still there."""
    said, folder = list[str](), DeviceFolder(tmp_path)
    project = folder.projects / ("0" * 64)

    def has_project() -> None:
        project.mkdir(parents=True)
        folder.arriving.touch()

    async def run(member: Member) -> None:
        said.append("runs")
        member._executor.end()
        assert not project.exists()
        assert not folder.arriving.exists()
        has_project()

    monkeypatch.setattr(Member, "run", run)
    monkeypatch.setattr(device, "step_back", lambda: said.append("steps back"))
    has_project()
    scheduler = endpoint("tcp://127.0.0.1:8786", None, part="measure", insecure=True)
    device.serve(Membership(name="xeon", pool="xeon", scheduler=scheduler, folder=folder), said.append)
    assert said == ["steps back", "runs"]
    assert not project.exists()
    assert not folder.arriving.exists()


def test_another_version_of_the_engine_is_named_as_a_device_joins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At the port that it was given."""
    said: list[str] = []

    async def earlier(endpoint: Endpoint) -> str:
        return "2023.1.0"

    monkeypatch.setattr(device, "of_scheduler", earlier)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])

    async def run() -> list[str]:
        options: dict[str, Any] = {"dashboard": False, "dashboard_address": engine_settings.NO_DASHBOARD}
        async with Scheduler(host="tcp://127.0.0.1", port=0, **options) as scheduler:
            at = endpoint(scheduler.address, None, part="measure", insecure=True)
            folder = DeviceFolder(tmp_path)
            member = Member(Membership(name="orin", pool="orin", scheduler=at, folder=folder, port=port), said.append)
            running = asyncio.create_task(member.run())
            while not said:
                await asyncio.sleep(0.05)
            found = list(scheduler.workers)
            member.stop()
            await asyncio.wait_for(running, 30)
            return found

    assert asyncio.run(run()) == [f"tcp://127.0.0.1:{port}"]
    assert said[0].endswith(f"; distributed is {HERE} here and 2023.1.0 on the scheduler")


def test_a_device_joins_again_once_its_machine_is_set_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    power, said, measures = [("nvpmodel 15W",)], list[str](), [True]
    monkeypatch.setattr(machine, "_power", lambda gpus: power[0])
    monkeypatch.setattr(condition, "EVERY_S", 0.0)
    monkeypatch.setattr(device, "Condition", partial(condition.Condition, is_measuring=lambda: measures[0]))

    async def joins(scheduler: Scheduler, mode: str) -> None:
        while [each.extra[KEY]["environment"].get("power") for each in scheduler.workers.values()] != [mode]:
            await asyncio.sleep(0.05)

    async def run() -> None:
        options: dict[str, Any] = {"dashboard": False, "dashboard_address": engine_settings.NO_DASHBOARD}
        async with Scheduler(host="tcp://127.0.0.1", port=0, **options) as scheduler:
            at = endpoint(scheduler.address, None, part="measure", insecure=True)
            folder = DeviceFolder(tmp_path)
            member = Member(Membership(name="orin", pool="orin", scheduler=at, folder=folder), said.append)
            running = asyncio.create_task(member.run())
            try:
                await asyncio.wait_for(joins(scheduler, "nvpmodel 15W"), 30)
                address = next(iter(scheduler.workers))
                power[0] = ("nvpmodel MAXN",)
                await asyncio.sleep(1.5)
                assert list(scheduler.workers) == [address], "a measurement is not disturbed"
                measures[0] = False
                await asyncio.wait_for(joins(scheduler, "nvpmodel MAXN"), 30)
            finally:
                member.stop()
                await asyncio.wait_for(running, 30)

    asyncio.run(run())
    assert "its machine is set otherwise now (nvpmodel MAXN, was nvpmodel 15W), so it joins again" in said
    assert [line.partition(" ")[0] for line in said] == ["joined", "its", "joined", "leaving", "stopped"]
