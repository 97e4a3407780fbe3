"""The devices of a cluster as the place where a session measures."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.client import travel
from pytest_ngraph.cluster.client.dispatch import Dispatch
from pytest_ngraph.cluster.client.link import LOST, Link
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.client.remote import RemoteBench
from pytest_ngraph.cluster.client.remote_host import RemoteHost
from pytest_ngraph.cluster.client.sent_groups import SentGroups
from pytest_ngraph.cluster.files import top
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.versions import difference
from pytest_ngraph.errors import NgraphError, UsageError
from pytest_ngraph.machine.machine import environment_in_words, power_now
from pytest_ngraph.system.installed import LIBRARIES, OWN, library_versions

POLL_S = 0.5
SETTLE_S, SETTLING_S = 60.0, 2.0
"""Time for a device to notice that its machine is set otherwise, and to join again; and between two looks at that."""
BUSY_S = 900.0
"""Time for it to finish what it measures before: a device that is away is waited for as long."""
EQUAL = ("fingerprint", "python", *LIBRARIES)
"""What must be the same on all machines of a pool, because their results are stored under one name."""


class ClusterSite:
    """A cluster, reached through its scheduler.

    Args:
        endpoint: the scheduler's.
        rootdir: pytest's root folder.
        leave_out: files and folders of the project that are not sent.
        send: patterns of the files that are sent; without any, all.
        wait_s: seconds from now on in which devices that are not in the cluster yet are waited for.
        on_wait: called with the reason when it waits for a device that measures for others.

    Raises:
        UsageError: the scheduler cannot be reached, or git cannot read the project's repository.
    """

    is_here = False

    def __init__(
        self,
        endpoint: Endpoint,
        rootdir: Path,
        leave_out: Collection[Path] = (),
        send: Sequence[str] = (),
        wait_s: float = 0.0,
        on_wait: Callable[[str], None] = lambda reason: None,
    ) -> None:
        engine_settings.settle()
        self._rootdir = rootdir
        self._project = top(rootdir).resolve()
        self._link = Link(endpoint)
        self._leave_out = leave_out
        self._send = send
        self._travelling: LocalProject | None = None
        self._pools: dict[str, list[JoinedDevice]] = {}
        self._hosts: dict[str, RemoteHost] = {}
        self._deadline = time.monotonic() + wait_s
        self._on_wait = on_wait
        self._look()

    def require(self, devices: Iterable[str]) -> None:
        """Raise `UsageError` unless these devices are in the cluster and can be used. Waits for those that are not."""
        for device in devices:
            self.host(device)

    def describe(self, devices: Sequence[str]) -> str:
        shown = [device for device in devices if device in self._pools] or sorted(self._pools)
        return f"cluster {self._link.address}: {', '.join(f'{each} ({self._in_words(each)})' for each in shown)}"

    def host(self, device: str) -> RemoteHost:
        if device not in self._hosts:
            while device not in self._pools and time.monotonic() < self._deadline:
                time.sleep(POLL_S)
                self._look()
            first = self._settled(device)[0]

            def ask(function: Callable[..., Any], *arguments: Any) -> Any:
                try:
                    answer = self._link.run(function, *arguments, on=[first.address])[first.address]
                except (*LOST, KeyError) as error:
                    raise UsageError(
                        f"device {first.name} does not answer ({type(error).__name__}: {error}). Check whether it is "
                        f"still there: pytest-ngraph device list --scheduler={self._link.address}."
                    ) from error
                if isinstance(answer, NgraphError):
                    raise answer
                return answer

            try:
                self._hosts[device] = RemoteHost(first, ask, self._project)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise UsageError(
                    f"device {first.name}'s report on its machine cannot be read ({type(error).__name__}: "
                    f"{error}). Install the same pytest-ngraph there, and start it again."
                ) from None
        return self._hosts[device]

    def environment_of(self, device: str) -> dict[str, str] | None:
        return self.host(device).environment if device in self._pools else None

    def check(self) -> None:
        self._travelling = self._read()

    def open(self, work: WorkOrder) -> RemoteBench:
        project = self._travelling or self._read()
        versions = {each.name: each.engine for members in self._pools.values() for each in members}
        if differing := difference({"the scheduler": self._link.engine, **versions}):
            work.note(f"{differing}: if the cluster misbehaves, install one version everywhere.")
        for name, why in self._link.unreadable.items():
            work.note(f"device {name} is left out, because its report cannot be read: {why}")
        sent_groups = SentGroups(work, uuid.uuid4().hex, project, self._link.user, self._send)
        for digest, packed in sent_groups.archives.items():
            if packed.left_out:
                of = work.base.name if work.base and digest != project.packed.digest else ""
                warnings.warn(travel.left_out(packed, of), stacklevel=2)
        return RemoteBench(
            Dispatch(self._link, sent_groups),
            sent_groups,
            work,
            environment=lambda device: self.host(device).environment,
            machines=lambda device: max(len(self._pools.get(device, ())), len(work.profiles[device].pool), 1),
        )

    def close(self) -> None:
        self._link.close()

    def _read(self) -> LocalProject:
        return LocalProject.read(self._project, self._leave_out, self._send, self._rootdir)

    def _look(self) -> None:
        """Note which devices are in the cluster, by their own name and by that of their pool."""
        try:
            there = self._link.present()
        except LOST as error:
            raise UsageError(
                f"the connection to the scheduler at {self._link.address} is lost ({type(error).__name__}: {error}). "
                "Run again once it is back."
            ) from error
        self._pools.clear()
        for each in there:
            for name in dict.fromkeys((each.pool, each.name)):
                self._pools.setdefault(name, []).append(each)

    def _settled(self, device: str) -> list[JoinedDevice]:
        """Return the members of a pool, as `_checked` does, once they report how their machines are set now.

        A device looks at that twice a minute, and joins again when it has finished what it measures. Records of a
        session that begins before would not be as it expects.
        """
        self._checked(device)
        began = time.monotonic()
        free_since, said = began, ""
        while otherwise := self._set_otherwise(device):
            now = time.monotonic()
            busy = [
                each.name for each in self._pools.get(device, ()) if each.name in otherwise and each.state == "busy"
            ]
            free_since = now if busy else free_since
            if now - free_since >= SETTLE_S or now - began >= BUSY_S:
                self._checked(device)
                raise UsageError(_unsettled(otherwise, now - began))
            reason = f"{', '.join(busy)} measures for others, and joins again then, as its machine is set otherwise now"
            if busy and reason != said:
                said = reason
                self._on_wait(said)
            time.sleep(SETTLING_S)
            self._look()
        return self._checked(device)

    def _set_otherwise(self, device: str) -> dict[str, str]:
        """Return how machines of a pool are set now that have reported it otherwise, by the machine's name.

        A pool of which no machine is there is just joining again, and stands for it.
        """
        if device not in self._pools:
            return {device: ""}
        boards = {each.address: each for each in self._pools[device] if each.machine.get("gpus")}
        try:
            found = self._link.run(power_now, on=[*boards]) if boards else {}
        except LOST:
            return {}
        known = {address: [*power] for address, power in found.items() if isinstance(power, (list, tuple))}
        reported = {address: [*each.machine.get("power", ())] for address, each in boards.items()}
        return {
            boards[address].name: "; ".join(map(str, power))
            for address, power in known.items()
            if power != reported[address]
        }

    def _checked(self, device: str) -> list[JoinedDevice]:
        """Return the members of a pool. Raises `UsageError` if there are none, or if they cannot be used as one."""
        if device not in self._pools:
            states = {name: self._state(name) for name in self._pools}
            states |= {name: f"its report cannot be read: {why}" for name, why in self._link.unreadable.items()}
            there = ", ".join(sorted(f"{name} ({state})" for name, state in states.items())) or "none"
            raise UsageError(
                f"device {device} is not in the cluster at {self._link.address}; devices there: {there}. Start it "
                f"on its machine (pytest-ngraph device start --name={device}), or wait for it: "
                "--ngraph-wait-for-devices=SECONDS."
            )
        members = self._pools[device]
        own = library_versions().get(OWN)
        for each in members:
            if (theirs := each.environment.get(OWN)) != own:
                raise UsageError(
                    f"device {each.name} has {OWN} {theirs}, but this machine has {own}. Install the same there: "
                    f"pip install {OWN}=={own}"
                )
        first = members[0]
        for each in members[1:]:
            for key in EQUAL:
                one, other = first.environment.get(key), each.environment.get(key)
                if one != other:
                    raise UsageError(
                        f"the machines of device {device} differ, so their results cannot be stored under one name: "
                        f"{key} is {one} on {first.name} and {other} on {each.name}. Start one of them as another "
                        "device: --device=NAME."
                    )
        return members

    def _state(self, device: str) -> str:
        """Return a pool's state: free if one of its machines is."""
        states = [each.state for each in self._pools[device]]
        return "free" if "free" in states else states[0]

    def _in_words(self, device: str) -> str:
        members = self._pools[device]
        several = f"{len(members)} times " if len(members) > 1 else ""
        return several + environment_in_words(members[0].environment)


def _unsettled(otherwise: Mapping[str, str], waited_s: float) -> str:
    """Return the message on machines that are set otherwise than they have reported."""
    now = ", ".join(f"{name} ({power or 'nothing known'})" for name, power in otherwise.items())
    return (
        f"set otherwise than reported when it joined: {now}. It has not joined again within {waited_s:.0f} s, and its "
        "records would fail. Run again later, or start the device again on its machine."
    )
