"""What the head keeps of what devices report, by the engine's own workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dask
import pytest
from distributed import Client, Worker, worker
from tornado.httpclient import AsyncHTTPClient

from pytest_ngraph.cluster import engine_settings, scheduler
from pytest_ngraph.cluster.resources import KEY, resource
from pytest_ngraph.cluster.scheduler import Head

ALONE: dict[str, Any] = {"dashboard": False, "dashboard_address": engine_settings.NO_DASHBOARD}
NAMES = dict.fromkeys(map(str, range(10_000)), 1)
REPORT, CONDITION = {"pool": "red"}, {"refuses": "too hot"}


def harm(total: float) -> dict[str, Any]:
    """Return the figures of a heartbeat, with its bandwidth: after 1e300 and -5e299, the engine's mean of two is 0."""
    return {
        "bandwidth": {"total": total, "workers": {}, "types": {"Odd": (1.0, 1)}},
        "digests_total_since_heartbeat": NAMES,
        "memory": 2**80,
        "spilled_bytes": {"memory": 0, "disk": -1},
        "junk": "y" * 1000,
        KEY: CONDITION,
    }


@asynccontextmanager
async def head_with(device: type[Worker], **options: Any) -> AsyncIterator[tuple[Head, Worker]]:
    """Yield a head, and the device `red` that has joined it."""
    async with (
        Head(protocol="inproc", host="", port=0, **ALONE) as head,
        device(head.address, name="red", resources={resource("red"): 7}, **ALONE | options) as red,
    ):
        yield head, red


async def works(head: Head, name: str) -> bool:
    """Return whether a device answers a client that comes now."""
    async with Client(head.address, asynchronous=True, set_as_default=False) as client:
        done = client.submit(len, "ab", resources={resource(name): 1}, pure=False)
        return bool(await asyncio.wait_for(client.gather(done), 5) == 2)


def reported(head: Head) -> dict[str, Any]:
    """Return what the head answers about the device `red`."""
    (found,) = (each for each in head.identity()["workers"].values() if each["name"] == "red")
    return dict(found)


def test_of_a_heartbeat_the_head_keeps_what_devices_report_and_no_figure_of_the_engines() -> None:
    async def run() -> None:
        async with head_with(Worker, nthreads=1, memory_limit=0) as (head, red):
            other: dict[str, Any] = {"nthreads": 1, "memory_limit": 0, "resources": {resource("xeon"): 1}, **ALONE}
            async with Worker(head.address, name="xeon", **other):
                host = set(head.host_info)
                for total in (1e300, -5e299):
                    answer = await red.scheduler.heartbeat_worker(
                        address=red.address, now=1.0, metrics=harm(total), host_info=NAMES, executing=NAMES
                    )
                    assert answer["status"] == "OK"
                assert await works(head, "xeon")
                kept = {*head.cumulative_worker_metrics, *head.bandwidth_workers, *head.bandwidth_types}
                assert not kept & {*NAMES, "Odd"}
                assert set(head.host_info) == host
                assert reported(head)["metrics"][KEY] == CONDITION
                assert "junk" not in reported(head)["metrics"]

    asyncio.run(asyncio.wait_for(run(), 60))


def test_of_a_registration_the_head_keeps_who_joins_and_what_devices_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its versions, which the engine compares with those of all others, keep no client from connecting."""
    monkeypatch.setattr(worker, "get_versions", lambda: {"packages": 5})

    class Odd(Worker):
        async def get_metrics(self) -> dict[str, Any]:
            return harm(1e300)

        async def get_startup_information(self) -> dict[str, Any]:
            return {KEY: REPORT, "name": "xeon", "metrics": {}}

    async def run() -> None:
        async with head_with(Odd, nthreads=99, memory_limit=2**60) as (head, red):
            kept = reported(head)
            assert (kept["nthreads"], kept["memory_limit"], kept["local_directory"]) == (1, 0, "")
            assert (kept[KEY], kept["metrics"][KEY]) == (REPORT, CONDITION)
            assert head.resources[resource("red")] == {red.address: 1}
            assert await works(head, "red")

    asyncio.run(asyncio.wait_for(run(), 60))


def test_of_a_finished_task_the_head_keeps_that_it_is_finished() -> None:
    """The engine keeps each name of a type and of a time as long as it runs, and adds the times of all devices."""

    class Odd(Worker):
        def batched_send(self, msg: dict[str, Any]) -> None:
            if msg["op"] == "task-finished":
                times = [{"action": name, "start": 0.0, "stop": 1e200} for name in ("compute", *NAMES)]
                msg |= {
                    "typename": "Odd",
                    "startstops": times,
                    "nbytes": 2**80,
                    "metadata": NAMES,
                    "thread": "y" * 1000,
                }
            super().batched_send(msg)

    async def run() -> None:
        async with head_with(Odd, nthreads=1, memory_limit=0) as (head, _):
            assert await works(head, "red")
            (prefix,) = head.task_prefixes.values()
            assert not {*prefix.all_durations, *prefix.types} & {*NAMES, "compute", "Odd"}
            assert prefix.nbytes_total == 0

    asyncio.run(asyncio.wait_for(run(), 60))


def test_a_device_that_always_says_it_is_busy_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy(Worker):
        asked = 0

        async def get_data(self, *_: Any, **others: Any) -> Any:
            del others
            self.asked += 1
            return {"status": "busy"}

    async def run() -> None:
        async with (
            head_with(Busy, nthreads=1, memory_limit=0) as (head, red),
            Client(head.address, asynchronous=True, set_as_default=False) as client,
        ):
            assert isinstance(red, Busy)
            done = client.submit(len, "ab", resources={resource("red"): 1}, pure=False)
            while not done.done():
                await asyncio.sleep(0.01)
            asked: Any = client.scheduler
            with pytest.raises(Exception):  # noqa: B017,PT011 (whatever the engine makes of it)
                await asyncio.wait_for(asked.gather(keys=[done.key]), 5)
            before = red.asked
            await asyncio.sleep(0.5)
            assert red.asked == before > 0

    monkeypatch.setattr(scheduler, "HAND_OVER_S", 0.3)
    asyncio.run(run())


@pytest.mark.parametrize("path", ["/", "/status", "/metrics", "/info/main/workers.html", "/health"])
def test_no_web_page_is_served(path: str) -> None:
    async def run() -> list[int]:
        with dask.config.set(engine_settings.SETTINGS):
            async with head_with(Worker, nthreads=1, memory_limit=0) as (head, red):
                servers: list[Any] = [head.http_server, red.http_server]
                pages = [f"http://127.0.0.1:{server.port}{path}" for server in servers]
                client = AsyncHTTPClient()
                return [(await client.fetch(page, raise_error=False)).code for page in pages]

    assert asyncio.run(run()) == [404, 404]
