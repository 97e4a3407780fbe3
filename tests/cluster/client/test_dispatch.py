"""What a dispatch sends over its link, and what it does when the link breaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from cluster.devices import ORIN
from distributed import Future
from synthetic import case

from pytest_ngraph.cluster.client import dispatch
from pytest_ngraph.cluster.client.dispatch import Arrival, Dispatch
from pytest_ngraph.cluster.client.errands import SentGroup
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import JoinedDevice, resource
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.errors import DeviceAway

AWAY = "the connection to the scheduler is lost"
PROJECT, OTHER = Packed(digest="d1", content=b"project"), Packed(digest="d2", content=b"other")
XEON = dataclasses.replace(ORIN, name="xeon", pool="xeon", address="tcp://xeon")


class Done(Future):  # type: ignore[type-arg]  # not generic in the oldest that we support
    """A future whose status the test decides."""

    status: Any = "pending"

    def __init__(self, key: str) -> None:
        self.key = key
        self.callback: Callable[[Future[Any]], None] = lambda future: None

    def __del__(self) -> None:
        """Do nothing: no client knows this future."""

    def add_done_callback(self, fn: Callable[[Future[Any]], None]) -> None:
        self.callback = fn

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

    Attributes:
        arrived: what devices and their queues got, in order: an address with a digest and content, or a resource with
            a group's data.
    """

    def __init__(
        self, *, is_up: bool, devices: Sequence[JoinedDevice] = (), has: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        self.arrived: list[tuple[Any, ...]] = []
        self.restored = 0
        self.cancelled: list[str] = []
        self.gathered: list[list[Any]] = []
        self.futures: list[Done] = []
        self._is_up = is_up
        self._devices = list(devices)
        self._has = has or {}

    def present(self) -> list[JoinedDevice]:
        if not self._is_up:
            raise ConnectionError
        return self._devices

    def run(
        self, function: Callable[..., Any], *arguments: Any, on: Sequence[str], timeout_s: float = 0.0
    ) -> dict[str, Any]:
        if function is task.lacking:
            (digests,) = arguments
            return {address: [each for each in digests if each not in self._has.get(address, ())] for address in on}
        raise AssertionError(function)

    def deliver(self, packed: Packed, sender: str, *, to: str, timeout_s: float) -> None:
        assert sender == "client"
        self.arrived.append((to, packed.digest, packed.content))

    def submit(self, function: Callable[..., Any], data: Sequence[Any], resource: str) -> list[Any]:
        assert function is task.measure
        self.arrived += [(resource, each) for each in data]
        futures = [Done(f"{resource} {each}") for each in data]
        self.futures += futures
        return futures

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        self.gathered.append([future.key for future in futures])
        return self.gathered[-1]

    def listen(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Do nothing: no device sends messages."""

    def cancel(self, futures: Sequence[Any]) -> None:
        self.cancelled += [future.key for future in futures]

    def restore(self, patience_s: float) -> None:
        self.restored += 1
        raise DeviceAway(AWAY)


def over(way: Any, *archives: Packed) -> Dispatch:
    errands: Any = SimpleNamespace(client="client", archives={each.digest: each for each in archives})
    return Dispatch(way, errands)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_S", "LOOK_S", "AWAY_S"):
        monkeypatch.setattr(dispatch, name, 0.001)


def test_a_device_gets_the_projects_that_it_lacks_and_then_its_groups() -> None:
    way = Way(is_up=True, devices=[ORIN, XEON], has={ORIN.address: [OTHER.digest]})
    groups = [SentGroup(number, (case(device="orin"),), {"group": number}) for number in range(2)]
    over(way, PROJECT, OTHER).send(groups)
    assert way.arrived == [
        ("tcp://orin", "d1", b"project"),
        (resource("orin"), {"group": 0}),
        (resource("orin"), {"group": 1}),
    ]


def test_a_project_is_delivered_to_the_device_that_asks_for_it() -> None:
    way = Way(is_up=True, devices=[ORIN, XEON])
    over(way, PROJECT, OTHER).deliver_to("tcp://xeon", ["d2"])
    assert way.arrived == [("tcp://xeon", "d2", b"other")]


def test_a_scheduler_that_stays_away_is_waited_for_once() -> None:
    way = Way(is_up=False)
    ours = over(way)
    for _ in range(2):
        with pytest.raises(DeviceAway, match=AWAY):
            ours.send([SentGroup(0, (case(),), {})])
        with pytest.raises(DeviceAway, match=AWAY):
            ours.receive()
    assert way.restored == 1
    assert way.arrived == []


def test_a_device_that_stays_away_is_given_up() -> None:
    way = Way(is_up=True)
    ours = over(way)
    ours.send([SentGroup(0, (case(device="xeon"),), {"group": 0}), SentGroup(1, (case(device="orin"),), {"group": 1})])
    while len(ours.gone) < 2:
        assert ours.receive() == []
    assert "device orin has been away" in ours.gone["orin"]
    assert sorted(way.cancelled) == ["ngraph:orin {'group': 1}", "ngraph:xeon {'group': 0}"]


def test_what_comes_together_is_fetched_in_one_request() -> None:
    way = Way(is_up=True)
    ours = over(way)
    errands = [SentGroup(number, (case(),), {"group": number}) for number in range(3)]
    ours.send(errands)
    for future, status in zip(way.futures, ("finished", "error", "finished"), strict=True):
        future.become(status)
    first, second, third = [came for came in ours.receive() if isinstance(came, Arrival)]
    assert (first.errand, second.errand, third.errand) == (errands[0], errands[2], errands[1])
    assert way.gathered == [[first.answer, second.answer]]
    assert isinstance(third.error, ValueError)


def test_what_finished_beside_something_lost_is_not_lost() -> None:
    way = Way(is_up=True)
    ours = over(way)
    ours.send([SentGroup(number, (case(),), {"group": number}) for number in range(2)])
    way.futures[0].become("lost")
    way.futures[1].become("finished")
    assert len(ours.receive()) == 1
    with pytest.raises(DeviceAway):
        ours.receive()


def test_what_was_submitted_before_the_way_was_lost_is_sent_once() -> None:
    class Breaking(Way):
        """Breaks once, after the first device has its errands."""

        def submit(self, function: Callable[..., Any], data: Sequence[Any], resource: str) -> list[Any]:
            if self.futures and not self.restored:
                raise ConnectionError
            return super().submit(function, data, resource)

        def restore(self, patience_s: float) -> None:
            self.restored += 1

    way = Breaking(is_up=True)
    ours = over(way)
    ours.send([SentGroup(number, (case(device=name),), {"group": number}) for number, name in enumerate(["a", "b"])])
    assert len(ours._under_way) == 2
    assert way.arrived == [
        (resource("a"), {"group": 0}),
        (resource("a"), {"group": 0}),  # over the new connection: the scheduler forgot the first one
        (resource("b"), {"group": 1}),
    ]
