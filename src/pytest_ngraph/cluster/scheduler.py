"""The head of a cluster: passes cases from clients to devices, and computes nothing itself."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable

import dask
from distributed import Scheduler

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.shares import FairOrder
from pytest_ngraph.cluster.topics import ForgottenTopics
from pytest_ngraph.errors import UsageError

DEATHS = 1
"""How many workers may die while running a task before the task is given up."""


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
    scheduler = Scheduler(
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
