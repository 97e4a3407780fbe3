"""A device measures one group of each client, and then the next of each."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.client.turns import AHEAD
from pytest_ngraph.cluster.resources import KEY, resource
from pytest_ngraph.cluster.shares import AGAIN, FairOrder, Shares

MEASURED: list[str] = []


@dataclass
class Sender:
    """A client of the simulated device, with more groups than the device can measure.

    Attributes:
        length_s: returns the seconds of its next group.
        comes_at: when it sends its first groups.
        ahead: how many groups it has at the device.
        ends: when its groups ended.
        longest_s: the seconds of its longest group.
    """

    length_s: Callable[[], float]
    comes_at: float = 0.0
    ahead: int = AHEAD
    ends: list[float] = field(default_factory=list)
    longest_s: float = 0.0


def simulate(senders: dict[str, Sender], until_s: float) -> None:
    """Measure groups by their turn, and those of equal turns as they come, like the engine's worker."""
    shares, numbers, now = Shares(), count(), 0.0
    queue: list[tuple[int, int, str]] = []
    to_come = sorted(senders, key=lambda name: senders[name].comes_at)

    def send(name: str) -> None:
        number = next(numbers)
        queue.append((shares.turn(name, number), number, name))

    def come() -> None:
        while to_come and senders[to_come[0]].comes_at <= now:
            name = to_come.pop(0)
            for _ in range(senders[name].ahead):
                send(name)

    while now < until_s:
        if not queue:
            now = senders[to_come[0]].comes_at
            come()
        queue.sort()
        _, number, name = queue.pop(0)
        sender, seconds = senders[name], senders[name].length_s()
        now += seconds
        come()
        sender.longest_s = max(sender.longest_s, seconds)
        sender.ends.append(now)
        shares.ended(number)
        send(name)


def longest_wait_in_shares(senders: dict[str, Sender]) -> float:
    """Return the longest wait for an answer. A share is the time of one group of every client."""
    share_s = sum(sender.longest_s for sender in senders.values())
    waits = [b - a for each in senders.values() for a, b in pairwise([each.comes_at, *each.ends])]
    return max(waits) / share_s


def test_equal_clients_wait_for_one_group_of_each_other() -> None:
    senders = {name: Sender(lambda: 5.0, comes_at) for name, comes_at in (("a", 0.0), ("b", 12.0), ("c", 23.0))}
    simulate(senders, 300)
    assert longest_wait_in_shares(senders) == 1
    gaps = {after - before for each in senders.values() for before, after in pairwise(each.ends) if before >= 40}
    assert gaps == {15.0}


@pytest.mark.parametrize("seed", range(20))
def test_no_client_waits_for_more_than_twice_its_share(seed: int) -> None:
    """Whatever groups take, whenever clients come, and however many groups they send at once."""
    random_ = random.Random(seed)

    def sender() -> Sender:
        longest_s, least = random_.choice([1.0, 5.0, 60.0]), random_.choice([0.05, 1.0])
        return Sender(
            lambda: random_.uniform(least, 1.0) * longest_s, random_.uniform(0.0, 200.0), random_.choice([1, AHEAD, 20])
        )

    senders = {str(number): sender() for number in range(random_.randint(2, 5))}
    simulate(senders, 5000.0)
    assert longest_wait_in_shares(senders) <= 2


def test_who_comes_late_or_again_makes_up_for_nothing() -> None:
    shares = Shares()
    for number in range(100):
        assert shares.turn("early", number) == number
        shares.ended(number)
    shares.turn("early", "under way")
    assert shares.turn("late", "first") == 100
    shares.forget("early")
    assert shares.turn("early", "it has come back") == 100


def test_a_turn_that_was_of_no_use_does_not_count() -> None:
    shares = Shares()
    assert [shares.turn("one", number) for number in (0, 1)] == [0, 1]
    shares.ended(0)
    assert shares.turn("one", "again", again=True) == 1
    assert shares.turn("one", 2) == 2


def head(**resources: Any) -> Any:
    """Return the part of a scheduler that knows which devices have a resource, and what they report."""
    workers = {f"tcp://{name}": SimpleNamespace(extra={KEY: report}) for name, report in resources.items()}
    return SimpleNamespace(workers=workers, resources={resource(name): {f"tcp://{name}": 1} for name in resources})


def test_a_pool_and_its_machines_have_one_order() -> None:
    order = FairOrder(head(orin={"pool": "orin"}, **{"orin-1": {"pool": "orin"}}, odd=7))
    assert {order._pool(resource(name)) for name in ("orin", "orin-1")} == {resource("orin")}
    for unknown in ("odd", "absent"):
        assert order._pool(resource(unknown)) == resource(unknown)


def measure(name: str) -> None:
    MEASURED.append(name)


def test_clients_that_submit_everything_at_once_are_measured_in_turn() -> None:
    """By the engine's own scheduler and worker, which has joined when all is submitted."""

    async def run() -> None:
        options: dict[str, Any] = {"dashboard": False, "dashboard_address": engine_settings.NO_DASHBOARD}
        async with Scheduler(protocol="inproc", host="", port=0, **options) as scheduler:
            order = FairOrder(scheduler)
            scheduler.add_plugin(order)
            async with (
                Client(scheduler.address, asynchronous=True, set_as_default=False) as one,
                Client(scheduler.address, asynchronous=True, set_as_default=False) as other,
            ):
                wanted = {"pure": False, "resources": {resource("red"): 1}, "fifo_timeout": "0s"}
                ours = one.map(measure, ["one"] * 4, **wanted)
                while len(scheduler.tasks) < 4:
                    await asyncio.sleep(0.01)
                theirs = other.map(measure, ["other"] * 3, **wanted)
                theirs += other.map(measure, ["again"], priority=AGAIN, **wanted)
                while len(scheduler.tasks) < 8:
                    await asyncio.sleep(0.01)
                async with Worker(
                    scheduler.address, nthreads=1, resources={resource("red"): 1}, memory_limit=0, **options
                ):
                    await asyncio.gather(one.gather(ours), other.gather(theirs))
            assert order._pending == {}

    MEASURED.clear()
    asyncio.run(run())
    assert MEASURED == ["one", "other", "one", "other", "again", "one", "other", "one"]
