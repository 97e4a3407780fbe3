"""`pytest-ngraph device reserve`, `release` and `metrics`, and what `device list` says of a machine's health."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from pytest_ngraph.cli.arguments import path
from pytest_ngraph.errors import NgraphError, UsageError

if TYPE_CHECKING:
    from pytest_ngraph.cluster.client.link import Link
    from pytest_ngraph.cluster.presence import JoinedDevice
    from pytest_ngraph.cluster.roles import Role

Connect = Callable[["argparse.Namespace", "Role"], "AbstractContextManager[Link]"]
UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}
NOTABLE_SKEW_S = 5.0
"""Clocks that differ by less are not worth a word: messages take their time, too."""
READABLE = 0o644
"""The collector of Prometheus' node exporter, which reads the metrics, runs as another user."""
SHOWN = 80
"""How much of an answer that cannot be read is shown."""


def declare(add: Callable[..., argparse.ArgumentParser], connect: Connect) -> None:
    """Add the subcommands.

    Args:
        add: adds one, from its name, its function and its help.
        connect: connects to the cluster, in a role.
    """
    reserve = add("reserve", lambda parsed: _reserve(parsed, connect), "have devices measure for you alone for a while")
    reserve.add_argument("names", nargs="+", metavar="NAME", help="name of a device, or of a pool")
    reserve.add_argument(
        "--for", dest="seconds", type=_duration, required=True, metavar="TIME", help="how long, such as 30m, 2h or 1d"
    )
    release = add("release", lambda parsed: _release(parsed, connect), "end the reservation of devices")
    release.add_argument("names", nargs="+", metavar="NAME", help="name of a device, or of a pool")
    metrics = add(
        "metrics", lambda parsed: _metrics(parsed, connect), "print the devices' condition in Prometheus' text format"
    )
    metrics.add_argument("--output", type=path, metavar="FILE", help="write to this file, completely or not at all")


def chosen(devices: Sequence[JoinedDevice], names: Sequence[str]) -> list[JoinedDevice]:
    """Return the devices of these names, or of these pools. Raises `UsageError` for a name that is neither."""
    for name in names:
        if not any(name in (device.name, device.pool) for device in devices):
            raise UsageError.unknown("device", name, {each for d in devices for each in (d.name, d.pool)})
    return [device for device in devices if {device.name, device.pool} & set(names)]


def present(link: Link) -> list[JoinedDevice]:
    """Return the devices of a cluster. One whose report cannot be read is left out, and named on standard error."""
    devices = link.present()
    for name, reason in link.unreadable.items():
        print(
            f"device {name} is left out: its report cannot be read ({reason}). Install the same pytest-ngraph there, "
            "and start it again.",
            file=sys.stderr,
        )
    return devices


def outcome(device: JoinedDevice, answers: Mapping[str, Any], done: str) -> str:
    """Return what became of a request to a device, in words: `done`, if it did what it was asked for."""
    if succeeded(device, answers):
        return done
    return f"failed: {answers[device.address]}" if device.address in answers else "does not answer"


def succeeded(device: JoinedDevice, answers: Mapping[str, Any]) -> bool:
    """Return whether a device did what it was asked for, by the answers that `Link.run` returned."""
    return device.address in answers and not isinstance(answers[device.address], NgraphError)


def health_lines(device: JoinedDevice) -> list[str]:
    """Return what `device list` says of a machine's health, its clock, its reservation and why it refuses."""
    health, power = device.health, device.environment.get("power", "")
    facts = [
        f"{health.temperature_c:.0f} °C" if health.temperature_c is not None else "",
        f"{health.clock_mhz:.0f} MHz" if health.clock_mhz is not None else "",
        f"governor {health.governor}" if health.governor else "",
        f"profile {health.profile}" if health.profile else "",
        power,
        f"battery {health.battery_percent:.0f} %" if health.battery_percent is not None else "",
        f"{health.disk_bytes / 2**30:.1f} GiB disk free" if health.disk_bytes is not None else "",
        f"{health.memory_bytes / 2**30:.1f} GiB memory free" if health.memory_bytes is not None else "",
    ]
    seen = f"last seen {time.strftime('%H:%M:%S', time.localtime(device.last_seen))}"
    if abs(device.clock_skew_s) >= NOTABLE_SKEW_S:
        seen += f", its clock is {abs(device.clock_skew_s):.0f} s {'ahead' if device.clock_skew_s > 0 else 'behind'}"
    lines = [f"  {', '.join(filter(None, facts))}", f"  {seen}"]
    if device.reserved_by:
        lines.append(f"  reserved for {device.reserved_by} until {_minute(device.reserved_until)}")
    if device.refuses:
        lines.append(f"  refuses to measure: {device.refuses}")
    return [line for line in lines if line.strip()]


def _reserve(parsed: argparse.Namespace, connect: Connect) -> int:
    with connect(parsed, "submit") as link:
        from pytest_ngraph.cluster.device.reservation import reserve

        devices = chosen(present(link), parsed.names)
        answers = link.run(reserve, link.user, parsed.seconds, on=[device.address for device in devices])
    own = {"by": link.user, "until": time.time() + parsed.seconds}
    for device in devices:
        other = answers.get(device.address)
        said = _reserved(other, device.clock_skew_s) if other else _reserved(own)
        print(f"{device.name} {outcome(device, answers, said)}")
    return int(any(answers.get(device.address, own) for device in devices))


def _reserved(found: Any, skew_s: float = 0.0) -> str:
    """Return in words who a device is reserved for. It may answer anything.

    Args:
        found: the reservation as data.
        skew_s: how far the clock that it was made by is ahead.
    """
    try:
        return f"is reserved for {found['by']} until {_minute(found['until'] - skew_s)}"
    except (LookupError, TypeError, ValueError, ArithmeticError, OSError):
        return f"answers what cannot be read: {repr(found)[:SHOWN]}"


def _release(parsed: argparse.Namespace, connect: Connect) -> int:
    with connect(parsed, "submit") as link:
        from pytest_ngraph.cluster.device.reservation import release

        devices = chosen(present(link), parsed.names)
        answers = link.run(release, on=[device.address for device in devices])
    for device in devices:
        print(f"{device.name} {outcome(device, answers, 'is not reserved')}")
    return int(not all(succeeded(device, answers) for device in devices))


def _metrics(parsed: argparse.Namespace, connect: Connect) -> int:
    with connect(parsed, "observe") as link:
        from pytest_ngraph.cluster.prometheus import text

        found = text(present(link))
    if parsed.output is None:
        print(found, end="")
    else:
        from pytest_ngraph.system.files import write_whole

        write_whole(parsed.output, found.encode(), mode=READABLE)
    return 0


def _minute(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d{1,6}(?:\.\d+)?)([mhd])", text)
    if not match or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: write it as 30m, 2h or 1d")
    return float(match[1]) * UNITS[match[2]]
