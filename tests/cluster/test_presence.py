"""What the devices of a cluster report about themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.cluster.presence import introduction, present
from pytest_ngraph.cluster.resources import KEY


def cluster(now: Any = None, **reports: Any) -> Any:
    """Return a client of a cluster whose devices report this when they join, and `now` in their heartbeats."""
    workers = {
        f"tcp://{name}": {"name": name, "last_seen": 100.0, "metrics": {} if now is None else {KEY: now}, KEY: report}
        for name, report in reports.items()
    }

    def answered(question: Callable[[], Any], **options: Any) -> Any:
        return question()

    scheduler = SimpleNamespace(identity=lambda: {"workers": workers}, processing=lambda: {"tcp://xeon": ["one"]})
    return SimpleNamespace(scheduler=scheduler, sync=answered)


def test_devices_are_sorted_and_known_by_their_pool() -> None:
    found, _ = present(cluster(xeon=introduction("pool"), orin=introduction("orin")))
    assert [(device.name, device.pool, device.state) for device in found] == [
        ("orin", "orin", "free"),
        ("xeon", "pool", "busy"),
    ]


@pytest.mark.parametrize(
    "report",
    [
        7,
        {},
        {**introduction("odd"), "environment": ["odd"]},
        {**introduction("odd"), "environment": {}},
        {**introduction("odd"), "environment": {"fingerprint": "3f", "architecture": "x86_64"}},
        {**introduction("odd"), "compilers": "odd"},
    ],
)
def test_a_report_that_makes_no_sense_hides_no_other_device_and_is_named(report: Any) -> None:
    found = present(cluster(odd=report, xeon=introduction("xeon")))
    assert [device.name for device in found.devices] == ["xeon"]
    assert list(found.unreadable) == ["odd"]


@pytest.mark.parametrize(
    "now",
    [
        7,
        {"health": 7},
        {"health": {"temperature_c": "hot"}},
        {"health": {"disk_bytes": True}},
        {"time": "noon"},
        {"time": 1e30},
        {"reserved": 7},
        {"reserved": {"by": "anna", "until": 10**400}},
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_named(now: Any) -> None:
    found = present(cluster(now, odd=introduction("odd")))
    assert found.devices == []
    assert list(found.unreadable) == ["odd"]
