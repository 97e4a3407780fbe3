"""A client's way to the scheduler, which may be lost and found again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from distributed import Client, Future

from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.presence import JoinedDevice, present
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.errors import DeviceAway, UsageError

ANSWER_S = 60.0
"""For a device to answer what it is asked beside its tasks."""
AGAIN_S = 1.0
"""Between tries to reach the scheduler."""
GOODBYE_S = 5.0

LOST = (OSError, asyncio.TimeoutError, asyncio.CancelledError, RuntimeError)
"""What the engine raises when its connection breaks while it is used."""


class Link:
    """Raises `UsageError` where there is no scheduler, or none that takes this client. Whatever needs the connection
    raises one of `LOST` when there is none any more."""

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
        """The devices of the cluster now."""
        return present(self._open)

    def run(self, function: Callable[..., Any], *arguments: Any, on: Sequence[str], timeout_s: float = ANSWER_S) -> Any:
        """What a function gives on each of some devices, by their addresses, beside their tasks. Raises what it raises,
        too."""
        client = self._open
        return client.sync(client._run, function, *arguments, workers=list(on), callback_timeout=timeout_s)

    def submit(self, function: Callable[..., Any], data: Sequence[dict[str, Any]], resource: str) -> list[Future[Any]]:
        """Have a function called with each, in this order, by whichever worker has the resource."""
        futures: list[Future[Any]] = self._open.map(function, data, resources={resource: 1}, pure=False)
        return futures

    def gather(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """The results of futures that are finished, in one request for all."""
        client = self._open
        results: list[Any] = client.sync(client._gather, list(futures), callback_timeout=ANSWER_S)
        return results

    def listen(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Have `hear` called, in another thread, with each message under a topic."""
        self._open.subscribe_topic(topic, lambda event: hear(event[1]))

    def cancel(self, futures: Sequence[Future[Any]]) -> None:
        """What was not begun, is not begun any more."""
        client = self._open
        client.sync(client._cancel, list(futures), callback_timeout=GOODBYE_S)

    def restore(self, patience_s: float) -> None:
        """Connect anew. What was submitted before is forgotten by the scheduler, and what was listened for is not heard
        any more. Raises `DeviceAway` when that fails for so long."""
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
