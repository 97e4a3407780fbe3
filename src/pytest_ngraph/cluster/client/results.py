"""Fetches the results of groups, for each device by itself, so that a frozen one delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias

from distributed import Future

from pytest_ngraph.cluster.client.link import Answer, Link, NotHandedOver, failure

Fetched: TypeAlias = "Callable[[Future[Any], Any, BaseException | None], None]"
TIMED_OUT = (TimeoutError, asyncio.TimeoutError)


class Results:
    """The results that devices still have.

    Args:
        link: the connection to the cluster.
        later: takes a function from any thread, and has it called in the thread that owns this object.
        fetched: called with each future and its result, and why there is none, if its device does not hand it over.
    """

    def __init__(self, link: Link, later: Callable[[Callable[[], None]], None], fetched: Fetched) -> None:
        self._link = link
        self._later = later
        self._fetched = fetched
        self._coming: dict[str, list[Future[Any]]] = {}
        self._alone: dict[str, list[Future[Any]]] = {}
        self._asked: set[str] = set()
        self._is_void = False

    def cancel(self) -> None:
        """Forget all results: what devices answer from now on is ignored."""
        self._is_void = True

    def add(self, device: str, future: Future[Any]) -> None:
        """Fetch a result, together with others of its device that come while one is being fetched."""
        self._coming.setdefault(device, []).append(future)
        if device not in self._asked:
            self._asked.add(device)
            self._later(lambda: self._fetch(device))

    def _fetch(self, device: str) -> None:
        """Fetch what a device has. Raises one of `LOST`."""
        if self._is_void:
            return
        alone = self._alone.get(device)
        futures = [alone.pop(0)] if alone else self._coming.pop(device)
        answer = self._link.fetch(futures)
        answer.add_done_callback(lambda _: self._later(lambda: self._take(device, futures, answer)))

    def _take(self, device: str, futures: list[Future[Any]], answer: Answer) -> None:
        """Hand over results. A device that does not answer is asked again. Raises one of `LOST`.

        Of several results that cannot be had together, each is fetched alone: one machine of a pool may keep its own.
        """
        if self._is_void:
            return
        error = failure(answer)
        if isinstance(error, TIMED_OUT):
            self._coming[device] = futures + self._coming.get(device, [])
        elif isinstance(error, NotHandedOver) and len(futures) > 1:
            self._alone.setdefault(device, []).extend(futures)
        elif isinstance(error, NotHandedOver):
            self._fetched(futures[0], "", error)
        elif error is not None:
            raise error
        else:
            for future, result in zip(futures, answer.result(), strict=True):
                self._fetched(future, result, None)
        if device in self._coming or self._alone.get(device):
            self._fetch(device)
        else:
            self._asked.discard(device)
