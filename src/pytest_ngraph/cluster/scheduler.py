"""The head of a cluster: passes cases from clients to devices, and computes nothing itself."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import dask
from distributed import Scheduler
from distributed.versions import get_versions

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.resources import KEY
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.shares import FairOrder
from pytest_ngraph.cluster.topics import ForgottenTopics
from pytest_ngraph.errors import UsageError

HAND_OVER_S = 120.0
"""Time for devices to hand over results. A client asks again before it is over."""
DEATHS = 1
"""How many workers may die while running a task before the task is given up."""


class Head(Scheduler):
    """The engine's scheduler, which keeps of what a device says only what it joins as, its report, and what is done.

    The engine computes with the figures of all devices together, compares their versions with those of each client, and
    keeps each name of a figure. So one device could stop all others, or fill the head's memory.
    """

    async def add_worker(
        self,
        comm: Any,
        *,
        address: str,
        status: str,
        name: str,
        server_id: str,
        stimulus_id: str,
        resources: Iterable[str],
        metrics: dict[str, Any],
        extra: dict[str, Any],
        **_: Any,
    ) -> None:
        """A device joins."""
        await super().add_worker(
            comm,
            address=address,
            status=status,
            name=name,
            server_id=server_id,
            stimulus_id=stimulus_id,
            resources=dict.fromkeys(resources, 1),
            metrics=metrics,
            extra=_report(extra),
            versions=get_versions(),
            nthreads=1,
            memory_limit=0,
            now=0.0,
            services={},
            local_directory="",
            nanny="",
        )

    def heartbeat_worker(
        self, *, address: str, metrics: dict[str, Any], resources: dict[str, float] | None = None, **_: Any
    ) -> dict[str, Any]:
        """A device joins, or is still there."""
        return super().heartbeat_worker(
            address=address,
            resources=resources,
            metrics={
                "bandwidth": {"total": self.bandwidth, "workers": {}, "types": {}},
                "digests_total_since_heartbeat": {},
                "memory": 0,
                "spilled_bytes": {"memory": 0, "disk": 0},
                **_report(metrics),
            },
        )

    def handle_task_finished(self, key: Any, worker: str, stimulus_id: str, **msg: Any) -> None:
        """A device has finished a task."""
        super().handle_task_finished(
            key,
            worker,
            stimulus_id,
            run_id=msg["run_id"],
            type=None,
            typename="str",
            nbytes=0,
            startstops=(),
            metadata={},
            thread=None,
        )

    async def gather(self, keys: Any, serializers: Any = None) -> Any:
        """Fetch results for a client. The engine would ask a device for ever that always says it is busy."""
        return await asyncio.wait_for(super().gather(keys, serializers), HAND_OVER_S)


def _report(said: dict[str, Any]) -> dict[str, Any]:
    return {KEY: said[KEY]} if KEY in said else {}


def serve(endpoint: Endpoint, say: Callable[[str], None]) -> None:
    """Run until SIGTERM or SIGINT.

    Args:
        endpoint: where to listen.
        say: called with a line to print once the scheduler listens.

    Raises:
        UsageError: the address cannot be listened on.
    """
    with (
        tempfile.TemporaryDirectory(prefix="ngraph-scheduler-") as scratch,
        dask.config.set({"temporary-directory": scratch}),
    ):
        asyncio.run(_serve(endpoint, say))


async def _serve(endpoint: Endpoint, say: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    scheduler = Head(
        host=endpoint.address,
        security=endpoint.security,
        allowed_failures=DEATHS,
        dashboard=False,
        dashboard_address=engine_settings.NO_DASHBOARD,
    )
    for plugin in (ForgottenTopics(scheduler), FairOrder(scheduler)):
        scheduler.add_plugin(plugin)
    try:
        await scheduler
    except RuntimeError as error:
        raise UsageError(
            f"cannot listen on {endpoint.address}: {error.__cause__ or error}. Give another address: "
            "--address=HOST:PORT."
        ) from None
    endpoint.security.guard.say = say
    try:
        say(f"scheduler at {scheduler.address}")
        await stopped.wait()
    finally:
        await scheduler.close()
