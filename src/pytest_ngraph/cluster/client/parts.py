"""Sends an archive to a device in parts, so that it can refuse them as soon as something is measured there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.project import Packed

PART_BYTES = 2**16
"""So small that over a slow link, too, one arrives within `quiet.LEASE_S`: the device then waits for the next."""
PART_S = 300.0
"""Time for a device to take one part, and to unpack all of them after the last."""
Run = Callable[..., Awaitable[Any]]
"""Calls a function on the device, with the arguments that follow."""


class DeviceMeasures(ConnectionError):
    """The device takes no archive now, because something is measured there. Its task will ask for it."""


async def send(run: Run, packed: Packed, sender: str, part_bytes: int = PART_BYTES, part_s: float = PART_S) -> None:
    """Send an archive, however long that takes.

    Args:
        run: calls a function on the device.
        packed: the archive.
        sender: id of this client.
        part_bytes: the size of a part.
        part_s: the most time for each part.

    Raises:
        asyncio.TimeoutError: the device did not take a part in time.
        DeviceMeasures: the device measures, or has begun to.
        NgraphError: the device cannot store the archive.
    """
    count = max(1, -(-len(packed.content) // part_bytes))
    for number in range(count):
        part = packed.content[number * part_bytes : (number + 1) * part_bytes]
        try:
            taken = await asyncio.wait_for(run(task.receive, packed.digest, sender, number, count, part), part_s)
        except asyncio.TimeoutError:
            raise asyncio.TimeoutError(f"part {number + 1} of {count} was not taken within {part_s:g} s") from None
        if not taken:
            raise DeviceMeasures("the device measures")
