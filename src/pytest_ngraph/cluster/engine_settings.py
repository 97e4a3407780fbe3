"""Settings that keep the distributed engine from disturbing measurements, and from opening further ports."""

from __future__ import annotations

import logging
from typing import Any

import dask
import distributed

SETTINGS: dict[str, Any] = {
    "distributed.scheduler.worker-ttl": "60s",  # a frozen device gives back what it has not measured
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
"""The engine always opens a port for its web pages; here it has no pages, and only this machine can reach it."""


def settle(*, verbose: bool = False) -> None:
    """Use the settings in this process.

    Args:
        verbose: let the engine log what it does, including tracebacks.
    """
    dask.config.set(SETTINGS)
    logging.getLogger(distributed.__name__).setLevel(logging.INFO if verbose else logging.CRITICAL)
