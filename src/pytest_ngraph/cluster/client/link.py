"""A client's connection to the scheduler, which may break and be restored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from pytest_ngraph.cluster.client import parts
from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.presence import JoinedDevice, present
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.errors import DeviceAway, UsageError

ANSWER_S = 60.0
"""Time for a device to answer a question outside of its tasks."""
AGAIN_S = 1.0
"""Time between two tries to reach the scheduler."""
GOODBYE_S = 5.0

LOST = (OSError, asyncio.TimeoutError, asyncio.CancelledError, RuntimeError)
"""Exceptions that the engine raises when its connection breaks during a call."""


class Link:
    """A connection to the scheduler. Methods that use it raise one of `LOST` once it is broken.

    Raises:
        UsageError: there is no scheduler at the endpoint, or it refuses this client.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.address = endpoint.address
        self._endpoint = endpoint
        self._client = connect(endpoint)

    @property
    def _open(self) -> Client:
        if self._client.status != "running":
            raise ConnectionError(f"no connection to {self.address}")
        return self._client

    def present(self) -> list[JoinedDevice]:
        """Return the devices that are in the cluster now."""
        return present(self._open)

    def run(self, function: Callable[..., Any], *arguments: Any, on: Sequence[str], timeout_s: float = ANSWER_S) -> Any:
        """Call a function on some devices, outside of their tasks.

        Args:
            function: what to call; its exceptions are raised here.
            arguments: its arguments.
            on: addresses of the devices.
            timeout_s: the most time for the answers.

        Returns:
            The results, by address.
        """
        client = self._open
        return client.sync(client._run, function, *arguments, workers=list(on), callback_timeout=timeout_s)

    def deliver(self, packed: Packed, sender: str, *, to: str, timeout_s: float) -> None:
        """Send an archive to a device. Raises what `parts.send` raises.

        Args:
            packed: the archive.
            sender: id of this client.
            to: address of the device.
            timeout_s: the most time for all of it.
        """
        client = self._open

        async def run(function: Callable[..., Any], *arguments: Any) -> Any:
            return (await client._run(function, *arguments, workers=[to]))[to]

        client.sync(parts.send, run, packed, sender, callback_timeout=timeout_s)

    def submit(self, function: Callable[..., Any], data: Sequence[dict[str, Any]], resource: str) -> list[Future[Any]]:
        """Call a function with each of `data`, in this order, on whichever worker has the resource."""
        futures: list[Future[Any]] = self._open.map(function, data, resources={resource: 1}, pure=False)
        return futures

    def gather(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """Return the results of finished futures, with one request for all."""
        client = self._open
        results: list[Any] = client.sync(client._gather, list(futures), callback_timeout=ANSWER_S)
        return results

    def listen(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Call `hear`, from another thread, with each message of a topic."""
        self._open.subscribe_topic(topic, lambda event: hear(event[1]))

    def cancel(self, futures: Sequence[Future[Any]]) -> None:
        """Cancel those of the futures that have not started."""
        client = self._open
        client.sync(client._cancel, list(futures), callback_timeout=GOODBYE_S)

    def restore(self, patience_s: float) -> None:
        """Connect again. The scheduler forgets what was submitted, and `listen` has to be called again.

        Args:
            patience_s: how long to try.

        Raises:
            DeviceAway: the scheduler could not be reached in that time.
        """
        self.close()
        deadline = time.monotonic() + patience_s
        while True:
            try:
                self._client = connect(self._endpoint)
                return
            except UsageError as error:
                if time.monotonic() >= deadline:
                    raise DeviceAway(f"the connection to the scheduler is lost, and {error}") from None
            time.sleep(AGAIN_S)

    def close(self) -> None:
        with suppress(*LOST):
            self._client.close(timeout=GOODBYE_S)
