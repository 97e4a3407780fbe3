"""Versions of the engine in a cluster. They may differ, and are then named: what fails may fail because of that."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from distributed.core import rpc

from pytest_ngraph.cluster.security import Endpoint

HERE = version("distributed")
"""The engine's version on this machine."""
ANSWER_S = 10.0


def difference(others: Mapping[str, str]) -> str:
    """Return in words where the engine has another version than here; empty if that is nowhere.

    Args:
        others: versions by place. Places whose version is empty are left out: it is not known.
    """
    differing = [f"{other} on {place}" for place, other in others.items() if other not in ("", HERE)]
    return f"distributed is {HERE} here and {', '.join(differing)}" if differing else ""


async def of_scheduler(endpoint: Endpoint) -> str:
    """Return the scheduler's version of the engine, asked without joining; empty if it cannot be asked."""
    try:
        async with rpc(endpoint.address, connection_args=endpoint.security.get_connection_args("worker")) as scheduler:
            return in_answer(await asyncio.wait_for(scheduler.versions(), ANSWER_S))
    except (OSError, asyncio.TimeoutError, RuntimeError, TypeError, ValueError):
        return ""


def in_answer(answer: Mapping[str, Any]) -> str:
    """Return the engine's version from a scheduler's answer about its versions; empty if it is not in there."""
    return str(dict(answer.get("packages", ())).get("distributed", ""))
