"""A device that is stopped while something hangs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_ngraph.cluster.device import device
from pytest_ngraph.cluster.device.device import Member, Membership
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin
from pytest_ngraph.cluster.security import endpoint


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
