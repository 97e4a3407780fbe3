"""The devices of a cluster, and what they report about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from distributed import Client

from pytest_ngraph import compilers
from pytest_ngraph.bench.lock import is_held
from pytest_ngraph.cluster.versions import HERE
from pytest_ngraph.machine.machine import environment, this_machine

KEY = "ngraph"
"""Name under which a device's worker reports about itself, and keeps what its tasks need."""
State = Literal["free", "busy", "measured locally", "draining"]


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
        last_seen: when the scheduler last heard of it, by the scheduler's clock.
        engine: its version of the engine.
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

    @property
    def installed(self) -> list[str]:
        """The compilers that can be loaded there."""
        return [name for name, missing in self.compilers.items() if not missing]


def present(client: Client, timeout_s: float | None = None) -> list[JoinedDevice]:
    """Return the devices of a cluster, sorted by name.

    Args:
        timeout_s: the most time for the scheduler's answer; None for as long as it takes.
    """
    assert client.scheduler is not None
    workers: dict[str, dict[str, Any]] = client.sync(client.scheduler.identity, callback_timeout=timeout_s)["workers"]
    processing = client.sync(client.scheduler.processing, callback_timeout=timeout_s)
    devices = [
        _device(address, worker, busy=bool(processing.get(address)))
        for address, worker in workers.items()
        if KEY in worker
    ]
    return sorted(devices, key=lambda device: device.name)


def resource(device: str) -> str:
    """Return the name of a device's resource. The device has one of it, and each of its tasks needs one."""
    return f"{KEY}:{device}"


def introduction(pool: str) -> dict[str, Any]:
    """Return what a device reports when it joins."""
    found = {name: compilers.missing_library(name) for name in compilers.names()}
    return {
        "pool": pool,
        "machine": this_machine().to_dict(),
        "environment": environment(),
        "compilers": found,
        "engine": HERE,
    }


def condition(*, draining: bool) -> dict[str, bool]:
    """Return what a device reports with each heartbeat."""
    return {"draining": draining, "measuring": is_held()}


def _device(address: str, worker: Mapping[str, Any], *, busy: bool) -> JoinedDevice:
    reported = worker[KEY]
    return JoinedDevice(
        name=worker["name"],
        pool=reported["pool"],
        address=address,
        state=_state(worker["metrics"].get(KEY, {}), busy=busy),
        machine=reported["machine"],
        environment=reported["environment"],
        compilers=reported["compilers"],
        last_seen=worker["last_seen"],
        engine=reported.get("engine", ""),
    )


def _state(now: Mapping[str, bool], *, busy: bool) -> State:
    if now.get("draining"):
        return "draining"
    if busy:
        return "busy"
    return "measured locally" if now.get("measuring") else "free"
