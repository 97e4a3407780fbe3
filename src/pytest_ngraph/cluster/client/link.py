"""A client's connection to the scheduler, which may break and be restored."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from distributed import Client, Future
from distributed.protocol.pickle import dumps

from pytest_ngraph.cluster import answers
from pytest_ngraph.cluster.audit import this_user
from pytest_ngraph.cluster.client import parts
from pytest_ngraph.cluster.connection import connect
from pytest_ngraph.cluster.presence import JoinedDevice, present
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.cluster.security import Endpoint
from pytest_ngraph.cluster.versions import in_answer
from pytest_ngraph.errors import DeviceAway, NgraphError, UsageError

ANSWER_S = 60.0
"""Time for a device to answer a question outside of its tasks."""
AGAIN_S = 1.0
"""Time between two tries to reach the scheduler."""
GOODBYE_S = 5.0

Answer: TypeAlias = concurrent.futures.Future[Any]
"""What a device will answer."""
LOST = (OSError, asyncio.TimeoutError, asyncio.CancelledError, RuntimeError)
"""Exceptions that the engine raises when its connection breaks during a call."""


def failure(answer: Answer) -> BaseException | None:
    """Return why a device did not answer, once that is known; None if it did."""
    return ConnectionError("the question was withdrawn") if answer.cancelled() else answer.exception()


class NotHandedOver(Exception):
    """A device that has results does not hand them over, or answers the head with something else."""


class Link:
    """A connection to the scheduler. Methods that use it raise one of `LOST` once it is broken.

    Attributes:
        user: who this client is for devices: the name in its certificate, or else `user@host`.
        unreadable: why the last report of a device cannot be read, by its name. `present` leaves these out.

    Raises:
        UsageError: there is no scheduler at the endpoint, or it refuses this client.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.address = endpoint.address
        self.user = endpoint.holder or this_user()
        self.unreadable: dict[str, str] = {}
        self._endpoint = endpoint
        self._client = connect(endpoint)

    @property
    def _open(self) -> Client:
        if self._client.status != "running":
            raise ConnectionError(f"no connection to {self.address}")
        return self._client

    @property
    def engine(self) -> str:
        """The scheduler's version of the engine; empty if it does not answer."""
        try:
            client: Any = self._open
            return in_answer(client.sync(client.scheduler.versions, callback_timeout=ANSWER_S))
        except LOST:
            return ""

    def present(self) -> list[JoinedDevice]:
        """Return the devices that are in the cluster now, and can be used."""
        found = present(self._open, ANSWER_S)
        self.unreadable = found.unreadable
        return found.devices

    def run(
        self, function: Callable[..., Any], *arguments: Any, on: Sequence[str], timeout_s: float = ANSWER_S
    ) -> dict[str, Any]:
        """Call a function on some devices, outside of their tasks.

        Args:
            function: what to call; its results are plain data.
            arguments: its arguments.
            on: addresses of the devices.
            timeout_s: the most time for the answers.

        Returns:
            The result of each device, or the `NgraphError` with which the function failed there, by address. Devices
            that cannot be reached, or whose answer cannot be read, are left out.
        """
        client = self._open
        responses = client.sync(_broadcast, client, function, arguments, on, callback_timeout=timeout_s)
        results: dict[str, Any] = {}
        for address, response in responses.items():
            try:
                results[address] = _result(response)
            except answers.Unreadable:
                continue
            except NgraphError as error:
                results[address] = error
        return results

    def ask(self, function: Callable[..., Any], *arguments: Any, of: str, timeout_s: float = ANSWER_S) -> Answer:
        """Call a function on one device, outside of its tasks, and return at once.

        Args:
            function: what to call; its result is plain data.
            arguments: its arguments.
            of: address of the device.
            timeout_s: the most time for the answer.

        Returns:
            The result to come, or the exception: one of `LOST` if the device does not answer, and `NgraphError` if the
            function failed there or the answer cannot be read.
        """
        client = self._open
        return self._begin(client, _answer(client, function, arguments, of), timeout_s)

    def deliver(self, packed: Packed, sender: str, *, to: str) -> Answer:
        """Begin to send an archive to a device, and return at once.

        Args:
            packed: the archive.
            sender: id of this client.
            to: address of the device.

        Returns:
            The end to come, or the exception: what `parts.send` raises, or one of `LOST` if the device does not answer.
        """
        client = self._open

        async def run(function: Callable[..., Any], *arguments: Any) -> Any:
            return await _answer(client, function, arguments, to)

        return self._begin(client, parts.send(run, packed, sender))

    def submit(
        self,
        function: Callable[..., Any],
        data: Sequence[dict[str, Any]],
        resource: str,
        priority: int = 0,
        only: Sequence[str] = (),
    ) -> list[Future[Any]]:
        """Call a function with each of `data`, in this order, on whichever worker has the resource.

        Args:
            function: what to call.
            data: its argument in each call.
            resource: what a worker needs to have.
            priority: `shares.AGAIN` for what was submitted before, and could not be measured.
            only: addresses of the workers that may be chosen; empty for all.
        """
        futures: list[Future[Any]] = self._open.map(
            function, data, resources={resource: 1}, workers=list(only) or None, pure=False, priority=priority
        )
        return futures

    def fetch(self, futures: Sequence[Future[Any]]) -> Answer:
        """Begin to fetch the results of finished futures, with one request for all, and return at once.

        The client's own method would let requests of the same moment wait for each other's devices.

        Returns:
            The results to come, as they arrived, or the exception: one of `LOST`, and `NotHandedOver` if one of them
            cannot be had.
        """
        client, keys = self._open, [future.key for future in futures]

        async def gather() -> list[Any]:
            scheduler: Any = client.scheduler
            try:
                response = await scheduler.gather(keys=keys)
            except LOST:
                raise
            except Exception as error:  # the head fails where a device answers what the engine does not know
                raise NotHandedOver(f"{type(error).__name__}: {error}") from None
            if response["status"] != "OK":
                raise NotHandedOver("the device that had the result is gone, or does not hand it over")
            return [response["data"][key] for key in keys]

        return self._begin(client, gather(), ANSWER_S)

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

    @staticmethod
    def _begin(client: Client, work: Coroutine[Any, Any, Any], timeout_s: float | None = None) -> Answer:
        """Begin something on the client's own event loop, for as long as it takes if no time is given."""
        loop: Any = client.loop
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_s), loop.asyncio_loop)

    def close(self) -> None:
        with suppress(*LOST):
            self._client.close(timeout=GOODBYE_S)


async def _broadcast(
    client: Client, function: Callable[..., Any], arguments: Sequence[Any], on: Sequence[str]
) -> dict[str, Any]:
    """Return what some devices respond, by address, without those that cannot be reached. It is not yet read."""
    message = {
        "op": "run",
        "function": dumps(answers.answer),
        "args": dumps((function, *arguments)),
        "kwargs": dumps({}),
        "wait": True,
    }
    scheduler: Any = client.scheduler
    responses: dict[str, Any] = await scheduler.broadcast(msg=message, workers=list(on), on_error="ignore")
    return responses


async def _answer(client: Client, function: Callable[..., Any], arguments: Sequence[Any], of: str) -> Any:
    """Return the result of one device."""
    responses = await _broadcast(client, function, arguments, [of])
    if of not in responses:
        raise ConnectionError(f"the device at {of} cannot be reached")
    return _result(responses[of])


def _result(response: Any) -> Any:
    """Return the result in a device's response. Raises `NgraphError` if the function failed, or it cannot be read."""
    answer = answers.read(response.get("result") if isinstance(response, Mapping) else response)
    if "failed" in answer:
        raise NgraphError(answers.said(answer["failed"]))
    return answer.get("answer")
