"""Settings with which the distributed engine leaves a machine alone that measures, and opens no door beside its own."""

from __future__ import annotations

import logging
from typing import Any

import dask
import distributed

SETTINGS: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "10s",
    "distributed.admin.tick.cycle": "10s",
    "distributed.admin.system-monitor.interval": "60s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.memory.monitor-interval": "60s",
    "distributed.diagnostics.nvml": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
NO_DASHBOARD = "127.0.0.1:0"
"""The engine always opens a port for its web pages: without pages, and for this machine alone."""


def settle(*, verbose: bool = False) -> None:
    """Use the settings in this process. verbose: let the engine log what it does; it logs tracebacks, too."""
    dask.config.set(SETTINGS)
    logging.getLogger(distributed.__name__).setLevel(logging.INFO if verbose else logging.CRITICAL)
