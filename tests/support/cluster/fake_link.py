"""A link to a cluster that answers what the test says."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from distributed import Future
from synthetic import case

from pytest_ngraph.clock import Clock
from pytest_ngraph.cluster.client.dispatch import Arrival, Dispatch
from pytest_ngraph.cluster.client.link import Answer
from pytest_ngraph.cluster.client.sent_groups import SentGroup
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.errors import DeviceAway

AWAY = "the connection to the scheduler is lost"


class Done(Future):  # type: ignore[type-arg]  # not generic in the oldest that we support
    """A future whose status the test decides."""

    status: Any = "pending"

    def __init__(self, key: str) -> None:
        self.key = key
        self.is_released = False
        self.callback: Callable[[Future[Any]], None] = lambda future: None

    def __del__(self) -> None:
        """Do nothing: no client knows this future."""

    def add_done_callback(self, fn: Callable[[Future[Any]], None]) -> None:
        self.callback = fn

    def release(self) -> None:
        self.is_released = True

    def exception(self, timeout: Any = None, **keywords: Any) -> BaseException:
        return ValueError(self.key)

    def become(self, status: str) -> None:
        self.status = status
        self.callback(self)


class Way:
    """A fake link to a cluster.

    Args:
        is_up: whether there is a scheduler.
        devices: those that have joined.
        has: digests of the projects that each device has, by address.
        frozen: addresses of devices that answer nothing.
        refuses: what each device answers to a project, by address.

    Attributes:
        arrived: what devices and their queues got, in order: an address with a digest and content, or a resource with
            a group's data.
        open: what frozen devices were asked.
        priorities: with which groups were submitted, batch by batch.
        only: addresses of the machines that could get them, batch by batch; empty for all.
    """

    def __init__(
        self,
        *,
        is_up: bool,
        devices: Sequence[JoinedDevice] = (),
        has: Mapping[str, Sequence[str]] | None = None,
        frozen: Collection[str] = (),
        refuses: Mapping[str, Exception] | None = None,
    ) -> None:
        self.arrived: list[tuple[Any, ...]] = []
        self.open: list[Answer] = []
        self.priorities: list[int] = []
        self.only: list[list[str]] = []
        self.restored = 0
        self.cancelled: list[str] = []
        self.gathered: list[list[Any]] = []
        self.futures: list[Done] = []
        self.devices = list(devices)
        self.frozen = set(frozen)
        self._is_up = is_up
        self._has = has or {}
        self._refuses = refuses or {}

    def present(self) -> list[JoinedDevice]:
        if not self._is_up:
            raise ConnectionError
        return self.devices

    def ask(self, function: Callable[..., Any], *arguments: Any, of: str, timeout_s: float = 0.0) -> Answer:
        if of in self.frozen:
            self.open.append(Answer())
            return self.open[-1]
        if function is task.lacking:
            (digests,) = arguments
            return answered([each for each in digests if each not in self._has.get(of, ())])
        raise AssertionError(function)

    def deliver(self, packed: Packed, sender: str, *, to: str) -> Answer:
        assert sender == "client"
        self.arrived.append((to, packed.digest, packed.content))
        return answered(self._refuses.get(to))

    def lets_through(self) -> None:
        """Take projects from now on."""
        self._refuses = {}

    def submit(
        self,
        function: Callable[..., Any],
        data: Sequence[Any],
        resource: str,
        priority: int = 0,
        only: Sequence[str] = (),
    ) -> list[Any]:
        assert function is task.measure
        self.only.append(list(only))
        self.priorities.append(priority)
        self.arrived += [(resource, each) for each in data]
        futures = [Done(f"{resource} {each}") for each in data]
        self.futures += futures
        return futures

    def fetch(self, futures: Sequence[Any]) -> Answer:
        self.gathered.append([future.key for future in futures])
        if any(address in key for key in self.gathered[-1] for address in self.frozen):
            self.open.append(Answer())
            return self.open[-1]
        return answered(self.gathered[-1])

    def listen(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Do nothing: no device sends messages."""

    def cancel(self, futures: Sequence[Any]) -> None:
        self.cancelled += [future.key for future in futures]

    def restore(self, patience_s: float) -> None:
        self.restored += 1
        raise DeviceAway(AWAY)


def answered(result: Any) -> Answer:
    answer = Answer()
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)
    return answer


class Time:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def over(way: Any, *archives: Packed, clock: Clock = time.monotonic) -> Dispatch:
    sent_groups: Any = SimpleNamespace(client="client", archives={each.digest: each for each in archives})
    return Dispatch(way, sent_groups, clock)


def until(ours: Dispatch, count: int) -> list[Arrival]:
    """Return the next groups that are done."""
    arrivals: list[Arrival] = []
    while len(arrivals) < count:
        arrivals += [came for came in ours.receive() if isinstance(came, Arrival)]
    return arrivals


def worked_off(ours: Dispatch) -> list[dict[str, Any] | Arrival]:
    """Return what comes while everything that was answered is worked off, which takes a few calls."""
    return [came for _ in range(4) for came in ours.receive()]


def group(number: int, device: str) -> SentGroup:
    return SentGroup(number, (case(device=device),), {"group": number})
