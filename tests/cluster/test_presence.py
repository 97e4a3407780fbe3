"""What the devices of a cluster report about themselves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.cluster.presence import KEY, introduction, present


def cluster(**reports: Any) -> Any:
    """Return a client of a cluster whose devices report this when they join."""
    workers = {
        f"tcp://{name}": {"name": name, "last_seen": 100.0, "metrics": {}, KEY: report}
        for name, report in reports.items()
    }

    def answered(question: Callable[[], Any], **options: Any) -> Any:
        return question()

    scheduler = SimpleNamespace(identity=lambda: {"workers": workers}, processing=lambda: {"tcp://xeon": ["one"]})
    return SimpleNamespace(scheduler=scheduler, sync=answered)


def test_devices_are_sorted_and_known_by_their_pool() -> None:
    found = present(cluster(xeon=introduction("pool"), orin=introduction("orin")))
    assert [(device.name, device.pool, device.state) for device in found] == [
        ("orin", "orin", "free"),
        ("xeon", "pool", "busy"),
    ]


@pytest.mark.parametrize(
    "report", [7, {}, {**introduction("odd"), "environment": ["odd"]}, {**introduction("odd"), "compilers": "odd"}]
)
def test_a_report_that_makes_no_sense_hides_no_other_device(report: Any) -> None:
    assert [device.name for device in present(cluster(odd=report, xeon=introduction("xeon")))] == ["xeon"]
