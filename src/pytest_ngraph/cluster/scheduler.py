"""The head of a cluster: it hands the cases of clients to devices, and computes nothing itself."""

from __future__ import annotations

import asyncio
import signal
import tempfile
from collections.abc import Callable

import dask
from distributed import Scheduler

from pytest_ngraph.cluster import engine_settings
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.errors import UsageError

DEATHS = 1
"""Workers that may die under a task before it is given up."""


def serve(endpoint: Endpoint, tell: Callable[[str], None]) -> None:
    """Run until SIGTERM or SIGINT. Raises `UsageError` where the address cannot be listened at."""
    with (
        tempfile.TemporaryDirectory(prefix="ngraph-scheduler-") as scratch,
        dask.config.set({"temporary-directory": scratch}),
    ):
        asyncio.run(_serve(endpoint, tell))


async def _serve(endpoint: Endpoint, tell: Callable[[str], None]) -> None:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    scheduler = Scheduler(
        host=endpoint.address,
        security=endpoint.security,
        allowed_failures=DEATHS,
        dashboard=False,
        dashboard_address=engine_settings.NO_DASHBOARD,
    )
    try:
        await scheduler
    except RuntimeError as error:
        raise UsageError(f"cannot listen at {endpoint.address}: {error.__cause__ or error}.") from None
    try:
        tell(f"scheduler at {scheduler.address}")
        await told.wait()
    finally:
        await scheduler.close()
