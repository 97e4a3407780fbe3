"""The devices' condition in Prometheus' text format.

The format: https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

from pytest_ngraph.cluster.presence import JoinedDevice, State


class Gauge(NamedTuple):
    """A figure of each device.

    Attributes:
        name: as Prometheus has it, with the unit.
        help: what it is.
        of: returns the figure; None if the device does not report it.
    """

    name: str
    help: str
    of: Callable[[JoinedDevice], float | None]


GAUGES = (
    Gauge(
        "ngraph_device_temperature_celsius",
        "Highest temperature of the machine's sensors.",
        lambda device: device.health.temperature_c,
    ),
    Gauge(
        "ngraph_device_clock_hertz",
        "Mean clock of the cores.",
        lambda device: None if device.health.clock_mhz is None else device.health.clock_mhz * 1e6,
    ),
    Gauge(
        "ngraph_device_disk_free_bytes",
        "Free disk space where the device keeps its files.",
        lambda device: device.health.disk_bytes,
    ),
    Gauge("ngraph_device_memory_available_bytes", "Available memory.", lambda device: device.health.memory_bytes),
    Gauge(
        "ngraph_device_battery_ratio",
        "Charge of the battery, if the machine runs on it.",
        lambda device: None if device.health.battery_percent is None else device.health.battery_percent / 100,
    ),
    Gauge(
        "ngraph_device_clock_skew_seconds",
        "How far the device's clock is ahead of the scheduler's.",
        lambda device: device.clock_skew_s,
    ),
    Gauge(
        "ngraph_device_last_seen_timestamp_seconds",
        "When the scheduler last heard of the device.",
        lambda device: device.last_seen,
    ),
    Gauge(
        "ngraph_device_reserved_until_timestamp_seconds",
        "When the device's reservation ends.",
        lambda device: device.reserved_until or None,
    ),
)


def text(devices: Sequence[JoinedDevice]) -> str:
    """Return the figures of these devices. What a device does not report is left out."""
    lines: list[str] = []
    for gauge in GAUGES:
        lines += [f"# HELP {gauge.name} {gauge.help}", f"# TYPE {gauge.name} gauge"]
        for device in devices:
            if (value := gauge.of(device)) is not None:
                lines.append(f"{gauge.name}{_labels(device=device.name, pool=device.pool)} {value!r}")
    lines += ["# HELP ngraph_device_state Whether the device is in this state.", "# TYPE ngraph_device_state gauge"]
    for device in devices:
        for state in get_args(State):
            labels = _labels(device=device.name, pool=device.pool, state=state)
            lines.append(f"ngraph_device_state{labels} {int(device.state == state)}")
    return "\n".join(lines) + "\n"


def _labels(**values: str) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
