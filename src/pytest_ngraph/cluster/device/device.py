"""A device: this machine as a worker of the cluster, quiet beside what it measures, for as long as it is wanted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from distributed import Status, Worker, WorkerPlugin

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.connection import probe
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.presence import KEY, condition, introduction, resource
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.errors import UsageError

JOIN_S = 60.0
"""For a worker to join, after which a new one tries."""
AGAIN_S = 5.0
"""Between tries to join."""
POLL_S = 0.1
FETCH_S = 10.0
"""For clients to fetch their last results from a device that leaves; they get them from its store otherwise."""
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """What a device is in its cluster.

    pool: the device that tests ask for, of which there may be several. host, port: where it listens; None for the
    address by which it reaches the scheduler, 0 for any port.
    """

    name: str
    pool: str
    scheduler: Endpoint
    folder: DeviceFolder
    host: str | None = None
    port: int = 0


class MeasuringThreadPoolExecutor(ThreadPoolExecutor):
    """The one thread that measures, for the life of the process: when the scheduler is lost, the measurement under way
    goes on, and what a new worker is given waits for its end."""

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="measuring")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Does nothing: a worker that closes shuts its executors down."""

    def end(self) -> None:
        super().shutdown()


class DevicePlugin(WorkerPlugin):
    """What a task finds of its device: `get_worker().plugins[KEY]`. stop: begins to leave the cluster; called again,
    does not wait for what is being measured."""

    name = KEY

    def __init__(self, membership: Membership, stop: Callable[[], None]) -> None:
        self.device = membership.name
        self.pool = membership.pool
        self.folder = membership.folder
        self.stop = stop


def stop(dask_worker: Worker) -> None:
    """What `Client.run` runs on a device's worker to have it leave."""
    plugin = dask_worker.plugins[KEY]
    assert isinstance(plugin, DevicePlugin)
    plugin.stop()


def serve(membership: Membership, tell: Tell) -> None:
    """Take part in the cluster until SIGTERM, SIGINT or `stop`, joining again whenever the scheduler is lost.

    Told to leave, the device begins nothing more, finishes what it measures, and goes; told again, it goes at once.
    Nothing that it started is left then. Raises `UsageError` where a device of this name runs here already.
    """
    with membership.folder.occupied():
        try:
            asyncio.run(Member(membership, tell).run())
        finally:
            task.close()


class Member:
    """tell: says in a line what happens to the device."""

    def __init__(self, membership: Membership, tell: Tell) -> None:
        self._membership = membership
        self._tell = tell
        self._told = ""
        self._leaving = asyncio.Event()
        self._hurried = asyncio.Event()
        self._executor = MeasuringThreadPoolExecutor()

    def stop(self) -> None:
        """Begin to leave; the second time, at once."""
        if self._leaving.is_set():
            self._hurried.set()
            task.close()
        self._leaving.set()

    async def run(self) -> None:
        """Join, again and again, until told to leave."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        try:
            while not self._leaving.is_set():
                try:
                    await self._take_part()
                except (UsageError, OSError, RuntimeError, asyncio.TimeoutError) as error:
                    self._say(f"cannot join: {_reason(self._membership, error)}")
                    await self._unless_leaving(asyncio.sleep(AGAIN_S))
        finally:
            await asyncio.to_thread(self._executor.end)
        self._say("stopped")

    async def _take_part(self) -> None:
        """From joining until the scheduler is lost or the device has left."""
        at = self._membership.scheduler
        own_address = await asyncio.to_thread(probe, at)
        worker = self._worker(self._membership.host or own_address)
        try:
            await self._unless_leaving(worker.start())
            if worker.status == Status.running:
                self._say(f"joined {at.address}")
                await self._unless_leaving(worker.finished())
            if self._leaving.is_set():
                await self._leave(worker)
            else:
                self._say(f"lost {at.address}; what is being measured goes on")
        finally:
            await worker.close(executor_wait=False)

    def _worker(self, host: str) -> Worker:
        membership = self._membership
        return Worker(
            membership.scheduler.address,
            name=membership.name,
            security=membership.scheduler.security,
            host=host,
            port=membership.port,
            nthreads=1,
            executor=self._executor,
            resources={resource(device): 1 for device in (membership.pool, membership.name)},
            memory_limit=0,
            death_timeout=JOIN_S,
            dashboard=False,
            dashboard_address=engine_settings.NO_DASHBOARD,
            local_directory=str(membership.folder.scratch),
            plugins=(DevicePlugin(membership, self.stop),),
            startup_information={KEY: lambda _: introduction(membership.pool)},
            metrics={KEY: lambda _: condition(draining=self._leaving.is_set())},
        )

    async def _leave(self, worker: Worker) -> None:
        """Begin nothing more, finish what is measured, let clients fetch it, and hand back what was not begun."""
        if worker.status != Status.running:
            return
        self._say("leaving: finishes what it measures. Ctrl-C again to leave at once")
        worker.status = Status.paused
        await self._until(lambda: not worker.state.executing_count)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._until(lambda: not worker.data), FETCH_S)
        with suppress(OSError, asyncio.TimeoutError):  # the scheduler may be gone
            await asyncio.wait_for(worker.close_gracefully(), FETCH_S)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not (holds() or self._hurried.is_set()):
            await asyncio.sleep(POLL_S)

    async def _unless_leaving(self, work: Coroutine[Any, Any, object]) -> None:
        """Wait for the work, but no longer than until the device is to leave."""
        tasks = [asyncio.ensure_future(work), asyncio.ensure_future(self._leaving.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done = tasks[0].done()
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if done:
            tasks[0].result()

    def _say(self, text: str) -> None:
        """Tell it, unless it was the last that was told."""
        if text != self._told:
            self._tell(text)
        self._told = text


def _reason(membership: Membership, error: BaseException) -> str:
    """Why joining failed, in words."""
    cause = str(error.__cause__ or error)
    if "name taken" in cause:
        return (
            f"the cluster has a device {membership.name} already, or did not notice yet that it left. "
            "Give another name: --name=NAME."
        )
    return cause
