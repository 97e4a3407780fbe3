"""The devices of a cluster, and what they report about themselves."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from distributed import Client

from pytest_ngraph import compilers
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.cluster.versions import HERE
from pytest_ngraph.machine.health import Health
from pytest_ngraph.machine.machine import FINGERPRINT, Machine, environment, machine_now
from pytest_ngraph.wording import visible

ALWAYS = (FINGERPRINT, "architecture", "cores")
"""Facts that the environment of every machine has."""
ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, RecursionError)
"""What reading a report raises that makes no sense."""
State = Literal["free", "busy", "measured locally", "draining", "refuses", "reserved"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedDevice:
    """A device that has joined.

    Attributes:
        name: its own name in the cluster.
        pool: the device that tests ask for; its own name unless it was started with another one.
        address: the address of its worker.
        state: whether it can measure now.
        machine: its machine as data; readable as a `Machine` only if pytest-ngraph has the same version there.
        environment: versions and facts of the machine, as `machine.environment` returns them.
        compilers: for each compiler, why it cannot be loaded there; empty if it can.
        last_seen: when the scheduler last heard of it, in seconds since 1970, by the scheduler's clock.
        engine: its version of the engine.
        health: how its machine was when nothing was measured last.
        clock_skew_s: how far its clock is ahead of the scheduler's, and how long its last message took.
        refuses: why it would refuse to measure; empty if it would not.
        reserved_by: who it is reserved for; empty for nobody.
        reserved_until: until when, in seconds since 1970, by the scheduler's clock.
    """

    name: str
    pool: str
    address: str
    state: State
    machine: dict[str, Any]
    environment: Mapping[str, str]
    compilers: Mapping[str, str]
    last_seen: float = 0.0
    engine: str = ""
    health: Health = field(default_factory=Health)
    clock_skew_s: float = 0.0
    refuses: str = ""
    reserved_by: str = ""
    reserved_until: float = 0.0

    @property
    def installed(self) -> list[str]:
        """The compilers that can be loaded there."""
        return [name for name, missing in self.compilers.items() if not missing]


class Present(NamedTuple):
    """The devices of a cluster.

    Attributes:
        devices: those whose report can be read, sorted by name.
        unreadable: why the report of another one cannot be read, by its name.
    """

    devices: list[JoinedDevice]
    unreadable: dict[str, str]


def present(client: Client, timeout_s: float | None = None) -> Present:
    """Return the devices of a cluster, with what they say in `visible` texts.

    Args:
        client: a client of its scheduler.
        timeout_s: the most time for the scheduler's answer; None for as long as it takes.
    """
    assert client.scheduler is not None
    workers: dict[str, dict[str, Any]] = client.sync(client.scheduler.identity, callback_timeout=timeout_s)["workers"]
    processing = client.sync(client.scheduler.processing, callback_timeout=timeout_s)
    found = Present([], {})
    for address, worker in workers.items():
        if KEY in worker:
            try:
                found.devices.append(_device(address, worker, busy=bool(processing.get(address))))
            except ODD as error:
                name = visible(str(worker.get("name", address)))
                found.unreadable[name] = visible(f"{type(error).__name__}: {error}")
    found.devices.sort(key=lambda device: device.name)
    return found


def introduction(pool: str, machine: Machine | None = None) -> dict[str, Any]:
    """Return what a device reports when it joins, of its machine as it is set now or as it is given."""
    machine = machine or machine_now()
    found = {name: compilers.missing_library(name) for name in compilers.names()}
    return {
        "pool": pool,
        "machine": machine.to_dict(),
        "environment": environment(machine),
        "compilers": found,
        "engine": HERE,
    }


def _device(address: str, worker: Mapping[str, Any], *, busy: bool) -> JoinedDevice:
    reported = visible(worker[KEY])
    now = visible(worker["metrics"].get(KEY, {}))
    reserved = now.get("reserved") or {}
    skew_s = _moment(now.get("time", worker["last_seen"])) - worker["last_seen"]
    return JoinedDevice(
        name=visible(str(worker["name"])),
        pool=str(reported["pool"]),
        address=address,
        state=_state(now, busy=busy),
        machine=dict(reported["machine"]),
        environment=_environment(reported["environment"]),
        compilers=_texts(reported["compilers"]),
        last_seen=worker["last_seen"],
        engine=str(reported.get("engine", "")),
        health=Health.from_dict(now.get("health", {})),
        clock_skew_s=skew_s,
        refuses=str(now.get("refuses", "")),
        reserved_by=str(reserved.get("by", "")),
        reserved_until=_moment(_moment(reserved["until"]) - skew_s) if "until" in reserved else 0.0,
    )


def _environment(reported: Mapping[str, Any]) -> dict[str, str]:
    """Return an environment. Raises `ValueError` if it lacks what every machine has."""
    found = _texts(reported)
    if lacking := [fact for fact in ALWAYS if fact not in found]:
        raise ValueError(f"its environment lacks {', '.join(lacking)}")
    return found


def _texts(reported: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in reported.items()}


def _moment(reported: Any) -> float:
    """Return a time, in seconds since 1970. Raises an exception if it is none that a calendar has."""
    time.localtime(reported)
    return float(reported)


def _state(now: Mapping[str, Any], *, busy: bool) -> State:
    if now.get("draining"):
        return "draining"
    if busy:
        return "busy"
    if now.get("measuring"):
        return "measured locally"
    if now.get("refuses"):
        return "refuses"
    return "reserved" if now.get("reserved") else "free"
