"""What the devices of a cluster report about themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.cluster.presence import introduction, present
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.machine import machine


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


def nested(depth: int) -> Any:
    """Return a dict in a dict, and so on."""
    found: Any = {}
    for _ in range(depth):
        found = {"in": found}
    return found


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
        {**introduction("odd"), "machine": nested(5000)},
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


def test_a_device_reports_the_power_limit_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    reports = []
    for watts in (300, 250):
        monkeypatch.setattr(machine, "_power", lambda gpus, watts=watts: (f"power limit {watts} W",))
        reports.append(introduction("gpu"))
    assert [each["environment"]["power"] for each in reports] == ["power limit 300 W", "power limit 250 W"]
    assert [each["machine"]["power"] for each in reports] == [("power limit 300 W",), ("power limit 250 W",)]
    assert len({each["environment"]["fingerprint"] for each in reports}) == 2


@pytest.mark.parametrize(
    ("now", "state"),
    [
        ({}, "free"),
        ({"measuring": True}, "measured locally"),
        ({"refuses": "91 °C, more than 85 °C"}, "refuses"),
        ({"reserved": {"by": "anna@head", "until": 200.0}}, "reserved"),
        ({"draining": True, "measuring": True, "refuses": "91 °C"}, "draining"),
    ],
)
def test_the_state_of_a_device_is_said_in_words(now: dict[str, Any], state: str) -> None:
    found, _ = present(cluster(now, xeon=introduction("xeon"), orin=introduction("orin")))
    assert {device.name: device.state for device in found} == {
        "orin": state,
        "xeon": "draining" if state == "draining" else "busy",
    }


def test_a_reservation_ends_by_the_clock_of_the_scheduler() -> None:
    """The device's own clock is an hour ahead."""
    now = {"time": 100.0 + 3600.0, "reserved": {"by": "anna@head", "until": 100.0 + 3600.0 + 7200.0}}
    (found,), _ = present(cluster(now, xeon=introduction("xeon")))
    assert (found.clock_skew_s, found.reserved_by, found.reserved_until) == (3600.0, "anna@head", 100.0 + 7200.0)
    (free,), _ = present(cluster({"time": 3700.0}, xeon=introduction("xeon")))
    assert (free.reserved_by, free.reserved_until) == ("", 0.0)


def test_what_a_device_says_moves_no_cursor() -> None:
    sly = "\x1b]52;c;eA==\x07"
    report = introduction(sly) | {"compilers": {"tvm": f"missing\r{sly}", sly: ""}, "engine": sly}
    report["environment"] |= {"processor": sly, sly: "x"}
    report["machine"] |= {"processor": sly, "accelerators": [sly]}
    now = {"refuses": sly, "reserved": {"by": sly}, "health": {"governor": sly}}
    (found,), _ = present(cluster(now, **{f"xeon{sly}": report}))
    assert found.refuses == r"\x1b]52;c;eA==\x07"
    assert found.compilers["tvm"] == r"missing\r\x1b]52;c;eA==\x07"
    shown = [
        found.name,
        found.pool,
        *found.environment,
        *found.compilers,
        found.machine["accelerators"][0],
        found.engine,
    ]
    shown += [*found.environment.values(), found.machine["processor"], found.reserved_by, found.health.governor]
    assert [text for text in shown if not text.isprintable()] == []
    (name,) = present(cluster(odd={}, **{f"xeon{sly}": 7})).unreadable.keys() - {"odd"}
    assert name == r"xeon\x1b]52;c;eA==\x07"
