"""Sends an archive to a device in parts, so that it can refuse them as soon as something is measured there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.project import Packed

PART_BYTES = 2**20
Run = Callable[..., Awaitable[Any]]
"""Calls a function on the device, with the arguments that follow."""


class DeviceMeasures(ConnectionError):
    """The device takes no archive now, because something is measured there. Its task will ask for it."""


async def send(run: Run, packed: Packed, sender: str, part_bytes: int = PART_BYTES) -> None:
    """Send an archive.

    Args:
        run: calls a function on the device.
        packed: the archive.
        sender: id of this client.

    Raises:
        DeviceMeasures: the device measures, or has begun to.
        NgraphError: the device cannot store the archive.
    """
    count = max(1, -(-len(packed.content) // part_bytes))
    for number in range(count):
        part = packed.content[number * part_bytes : (number + 1) * part_bytes]
        if not await run(task.receive, packed.digest, sender, number, count, part):
            raise DeviceMeasures("the device measures")
