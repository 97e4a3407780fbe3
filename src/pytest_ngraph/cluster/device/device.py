"""A device: this machine as a worker of the cluster, from joining until it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Status, Worker

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.connection import probe
from pytest_ngraph.cluster.device.background import step_back
from pytest_ngraph.cluster.device.condition import Condition
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.plugin import DevicePlugin, Say, plugin_of
from pytest_ngraph.cluster.device.policy import Policy
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.cluster.device.quotas import Quotas
from pytest_ngraph.cluster.device.unit import STOP_S
from pytest_ngraph.cluster.presence import introduction
from pytest_ngraph.cluster.resources import KEY, resource
from pytest_ngraph.cluster.security import Endpoint, in_address
from pytest_ngraph.cluster.versions import difference, of_scheduler
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine.health import Health
from pytest_ngraph.machine.machine import machine_now

JOIN_S = 60.0
"""Time for a worker to join before a new one tries."""
AGAIN_S = 5.0
"""Time between two tries to join."""
POLL_S = 0.1
FETCH_S = 10.0
"""Time for clients to fetch their last results from a device that leaves. Later they get them from its store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """A device's place in its cluster.

    Attributes:
        name: the device's own name.
        pool: the device that tests ask for; several machines may share it.
        scheduler: the scheduler's endpoint.
        folder: what the device keeps on disk.
        host: address to listen on; None for the one from which this machine reaches the scheduler.
        port: port to listen on; 0 for any free port.
        policy: when nothing is measured.
        quotas: how much is kept on disk.
    """

    name: str
    pool: str
    scheduler: Endpoint
    folder: DeviceFolder
    host: str | None = None
    port: int = 0
    policy: Policy = field(default_factory=Policy)
    quotas: Quotas = field(default_factory=Quotas)


class MeasuringThreadPoolExecutor(ThreadPoolExecutor):
    """The only thread that measures, for the life of the process.

    Its priority is that of the thread that makes it. If the connection to the scheduler is lost, the measurement under
    way continues, and tasks of the next worker wait until it ends.
    """

    def __init__(self) -> None:
        super().__init__(max_workers=1, thread_name_prefix="measuring")
        self.submit(int).result()  # the thread exists from here on, with the priority of its maker

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: a worker that closes shuts down its executors, but this one is used again."""

    def end(self) -> None:
        """Shut down for good, after the measurement under way."""
        super().shutdown()


def stop(dask_worker: Worker) -> None:
    """Make a device leave the cluster. Called on its worker, through `Link.run`."""
    plugin_of(dask_worker).stop()


def serve(membership: Membership, say: Say) -> None:
    """Take part in the cluster until SIGTERM, SIGINT or `stop`, joining again whenever the scheduler is lost.

    After the first of these, the device starts nothing more, finishes its measurement if it ends within `STOP_S`, and
    leaves; after the second, it leaves at once. No process that it started is left running.

    Args:
        membership: the device's place in the cluster.
        say: called with a line to print whenever something happens to the device.

    Raises:
        UsageError: a device of this name already runs on this machine.
    """
    with membership.folder.occupied():
        _clear(membership.folder)  # a device that was killed has left it
        member = Member(membership, say)
        try:
            step_back()
            asyncio.run(member.run())
        finally:
            member.close()
            _clear(membership.folder)


def _clear(folder: DeviceFolder) -> None:
    """Remove what devices have of clients' projects."""
    Projects(folder.projects).clear()
    folder.arriving.unlink(missing_ok=True)


class Member:
    """A device that joins, measures and leaves.

    Args:
        membership: the device's place in the cluster.
        say: called with a line to print whenever something happens to the device.
    """

    def __init__(self, membership: Membership, say: Say) -> None:
        self._membership = membership
        self._print = say
        membership.scheduler.security.guard.say = self._say
        self._last_said = ""
        self._differing = ""
        self._leaving = asyncio.Event()
        self._hurried = asyncio.Event()
        self._outdated = asyncio.Event()
        self._executor = MeasuringThreadPoolExecutor()
        self._plugin = DevicePlugin(
            device=membership.name,
            pool=membership.pool,
            folder=membership.folder,
            policy=membership.policy,
            quotas=membership.quotas,
            stop=self.stop,
            say=self._say,
        )

    def stop(self) -> None:
        """Begin to leave, within `STOP_S`. The second call leaves at once."""
        if self._leaving.is_set():
            self._hurry()
        else:
            self._leaving.set()
            asyncio.get_running_loop().call_later(STOP_S, self._lose_patience)

    def close(self) -> None:
        """Stop what is measured, for any client."""
        self._plugin.close()

    async def run(self) -> None:
        """Join, again and again, until `stop` is called."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self.stop)
        try:
            while not self._leaving.is_set():
                try:
                    await self._take_part()
                except (UsageError, OSError, RuntimeError, asyncio.TimeoutError) as error:
                    differing = f" ({self._differing})" if self._differing else ""
                    reason = _reason(self._membership, error)
                    self._say(f"cannot join: {reason}{differing} (it tries again every {AGAIN_S:g} s)")
                    await self._unless_leaving(asyncio.sleep(AGAIN_S))
        finally:
            await asyncio.to_thread(self._executor.end)
        self._say("stopped")

    async def _take_part(self) -> None:
        """Join, and return when the scheduler is lost or the device has left."""
        at = self._membership.scheduler
        own_address = await asyncio.to_thread(probe, at)
        self._differing = difference({"the scheduler": await of_scheduler(at)})
        worker = self._worker(self._membership.host or own_address)
        try:
            await self._unless_leaving(worker.start())
            if worker.status == Status.running:
                self._say(f"joined {at.address}" + (f"; {self._differing}" if self._differing else ""))
                await self._unless_leaving(self._until_outdated(worker))
            if self._leaving.is_set() or self._outdated.is_set():
                await self._leave(worker)
            else:
                self._say(f"lost {at.address}; a measurement under way continues")
        finally:
            await worker.close(executor_wait=False)

    def _worker(self, host: str) -> Worker:
        membership, machine = self._membership, machine_now()
        self._outdated.clear()

        def look() -> Health:
            self._compare(machine.power, machine_now().power)
            return self._plugin.health()

        condition = Condition(look, membership.policy, membership.folder)
        return Worker(
            membership.scheduler.address,
            name=membership.name,
            security=membership.scheduler.security,
            host=in_address(host),
            port=membership.port,
            nthreads=1,
            executor=self._executor,
            resources={resource(device): 1 for device in (membership.pool, membership.name)},
            memory_limit=0,
            death_timeout=JOIN_S,
            dashboard=False,
            dashboard_address=engine_settings.NO_DASHBOARD,
            local_directory=str(membership.folder.scratch),
            plugins=(self._plugin,),
            startup_information={KEY: lambda _: introduction(membership.pool, machine)},
            metrics={KEY: lambda _: condition.now(draining=self._leaving.is_set())},
        )

    def _compare(self, reported: Sequence[str], now: Sequence[str]) -> None:
        """Have the device join again if its machine is set otherwise than it has reported: records would differ."""
        if now != reported and not self._outdated.is_set():
            self._say(f"its machine is set otherwise now ({_set(now)}, was {_set(reported)}), so it joins again")
            self._outdated.set()

    async def _until_outdated(self, worker: Worker) -> None:
        ends = [asyncio.ensure_future(worker.finished()), asyncio.ensure_future(self._outdated.wait())]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in ends:
                each.cancel()

    async def _leave(self, worker: Worker) -> None:
        """Start nothing more, finish the measurement, let clients fetch results, and give back tasks not started."""
        if worker.status != Status.running:
            return
        if self._leaving.is_set():
            self._say("leaving after the measurement under way. Press Ctrl-C again to leave at once")
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
        """Wait for the work, but only until `stop` is called."""
        tasks = [asyncio.ensure_future(work), asyncio.ensure_future(self._leaving.wait())]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done = tasks[0].done()
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if done:
            tasks[0].result()

    def _lose_patience(self) -> None:
        if not self._hurried.is_set():
            self._say(f"the measurement under way took more than {STOP_S / 60:.0f} minutes, and is given back")
            self._hurry()

    def _hurry(self) -> None:
        """Stop the measurement under way."""
        self._hurried.set()
        self.close()

    def _say(self, text: str) -> None:
        """Print a line, unless it is the same as the last one."""
        if text != self._last_said:
            self._print(text)
        self._last_said = text


def _set(power: Sequence[str]) -> str:
    return "; ".join(power) or "nothing known"


def _reason(membership: Membership, error: BaseException) -> str:
    """Return why joining failed, in words."""
    cause = str(error.__cause__ or error)
    if "name taken" in cause:
        return (
            f"the cluster has a device {membership.name} already, or has not noticed yet that it left. "
            "Give another name: --name=NAME."
        )
    return cause
