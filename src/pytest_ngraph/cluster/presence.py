"""Which devices are in a cluster, and what they tell of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from distributed import Client

from pytest_ngraph import compilers
from pytest_ngraph.bench.lock import is_held
from pytest_ngraph.machine.machine import environment, this_machine

KEY = "ngraph"
"""Under which a device's worker tells about itself, and keeps what its tasks need."""
State = Literal["free", "busy", "measured locally", "draining"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedDevice:
    """A device that has joined.

    pool: the device that tests ask for; the device's own name where it is the only one. machine: as data, which is
    `Machine`'s only where our own version is the same there. compilers: why each cannot be loaded there; empty where it
    can.
    """

    name: str
    pool: str
    address: str
    state: State
    machine: dict[str, Any]
    environment: Mapping[str, str]
    compilers: Mapping[str, str]

    @property
    def installed(self) -> list[str]:
        """The compilers that can be loaded there."""
        return [name for name, missing in self.compilers.items() if not missing]


def present(client: Client) -> list[JoinedDevice]:
    """The devices of a cluster, by name."""
    assert client.scheduler is not None
    workers: dict[str, dict[str, Any]] = client.sync(client.scheduler.identity)["workers"]
    processing = client.processing()
    devices = [
        _device(address, worker, busy=bool(processing.get(address)))
        for address, worker in workers.items()
        if KEY in worker
    ]
    return sorted(devices, key=lambda device: device.name)


def resource(device: str) -> str:
    """What a task needs one of, to run on this device, and a device offers one of."""
    return f"{KEY}:{device}"


def introduction(pool: str) -> dict[str, Any]:
    """What a device tells when it joins."""
    found = {name: compilers.missing_library(name) for name in compilers.names()}
    return {"pool": pool, "machine": this_machine().to_dict(), "environment": environment(), "compilers": found}


def condition(*, draining: bool) -> dict[str, bool]:
    """What a device tells with each heartbeat."""
    return {"draining": draining, "measuring": is_held()}


def _device(address: str, worker: Mapping[str, Any], *, busy: bool) -> JoinedDevice:
    told = worker[KEY]
    return JoinedDevice(
        name=worker["name"],
        pool=told["pool"],
        address=address,
        state=_state(worker["metrics"].get(KEY, {}), busy=busy),
        machine=told["machine"],
        environment=told["environment"],
        compilers=told["compilers"],
    )


def _state(now: Mapping[str, bool], *, busy: bool) -> State:
    if now.get("draining"):
        return "draining"
    if busy:
        return "busy"
    return "measured locally" if now.get("measuring") else "free"
