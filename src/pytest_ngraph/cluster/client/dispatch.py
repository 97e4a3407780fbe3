"""Sends groups to devices, waits for their answers, and sends them again after the connection was lost."""

from __future__ import annotations

import queue
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from dask.typing import Key
from distributed import Future

from pytest_ngraph.cluster.client.errands import Errands, SentGroup
from pytest_ngraph.cluster.client.link import GOODBYE_S, LOST, Link
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import resource
from pytest_ngraph.errors import DeviceAway, NgraphError

POLL_S = 1.0
LOOK_S = 10.0
"""Time between two checks of which devices are in the cluster."""
AWAY_S = 900.0
"""Time to wait for a device or the scheduler to come back: a small board takes minutes to start."""
DELIVER_S = 300.0
GATHER_S = 60.0


class Arrival(NamedTuple):
    """The end of an errand.

    Attributes:
        errand: the group that was sent.
        answer: what `task.measure` returned; empty if it failed.
        error: why it failed.
    """

    errand: SentGroup
    answer: dict[str, Any]
    error: BaseException | None = None


class Dispatch:
    """The errands under way.

    Attributes:
        gone: devices that stayed away for too long and are no longer waited for, with a message that says so.
    """

    def __init__(self, link: Link, errands: Errands) -> None:
        self.gone: dict[str, str] = {}
        self._link = link
        self._errands = errands
        self._arrived: queue.SimpleQueue[Future[Any] | dict[str, Any]] = queue.SimpleQueue()
        self._under_way: dict[Key, tuple[Future[Any], SentGroup]] = {}
        self._looked_at = time.monotonic()
        self._away_since: dict[str, float] = {}
        self._lost = ""
        self._listen()

    def send(self, errands: Iterable[SentGroup]) -> None:
        """Send errands to their devices, in this order. Raises `DeviceAway` if the scheduler stays away."""
        self._check()
        waiting = list(errands)
        while True:
            try:
                self._deliver({errand.device for errand in waiting})
                self._submit(waiting)
                return
            except LOST:  # `_restore` also returns those that were submitted before it broke
                waiting = list({errand.number: errand for errand in (*self._restore(), *waiting)}.values())

    def follow(self, errands: Iterable[SentGroup]) -> None:
        """Send errands to devices that had some before, without asking what they lack: their tasks ask for it.

        Raises `DeviceAway` if the scheduler stays away.
        """
        self._check()
        waiting = list(errands)
        try:
            self._submit(waiting)
        except LOST:
            self.send({errand.number: errand for errand in (*self._restore(), *waiting)}.values())

    def receive(self) -> list[dict[str, Any] | Arrival]:
        """Return messages from devices, then errands that are done; an empty list if none comes for a moment.

        Raises `DeviceAway` if the scheduler stays away.
        """
        self._check()
        self._look()
        try:
            received = [self._arrived.get(timeout=POLL_S)]
        except queue.Empty:
            return []
        with suppress(queue.Empty):
            while True:
                received.append(self._arrived.get_nowait())
        messages = [each for each in received if isinstance(each, dict)]
        return [*messages, *self._arrivals([each for each in received if isinstance(each, Future)])]

    def deliver_to(self, address: str, digests: Collection[str]) -> None:
        """Send projects to a device that lacks them, unless it measures now: then its task asks for them.

        A lost connection is ignored here, because the next call notices it. Raises the device's own `NgraphError` if it
        has no room for them.
        """
        with suppress(*LOST):
            for digest in digests:
                packed = self._errands.archives[digest]
                self._link.deliver(packed, self._errands.client, to=address, timeout_s=DELIVER_S)

    def close(self) -> None:
        """Cancel the errands under way, and stop what devices measure for this client."""
        futures = [future for future, _ in self._under_way.values()]
        self._under_way.clear()
        with suppress(*LOST):
            if futures:
                self._link.cancel(futures)
            addresses = [each.address for each in self._link.present()]
            self._link.run(task.stop, self._errands.client, on=addresses, timeout_s=2 * GOODBYE_S)

    def _submit(self, errands: Iterable[SentGroup]) -> None:
        for device, group in groupby(sorted(errands, key=lambda errand: errand.device), lambda errand: errand.device):
            batch = list(group)
            futures = self._link.submit(task.measure, [errand.data for errand in batch], resource(device))
            for future, errand in zip(futures, batch, strict=True):
                self._under_way[future.key] = (future, errand)
                future.add_done_callback(self._arrived.put)

    def _deliver(self, devices: Collection[str]) -> None:
        """Send the projects to those of these devices that are in the cluster and lack them."""
        members = [each for each in self._link.present() if {each.name, each.pool} & set(devices)]
        lacking = self._link.run(task.lacking, list(self._errands.archives), on=[each.address for each in members])
        for address, digests in lacking.items():
            with suppress(NgraphError):  # the errand asks for it again, and then reports the failure
                self.deliver_to(address, digests)

    def _arrivals(self, futures: Iterable[Future[Any]]) -> list[Arrival]:
        """Return the ends of errands. Futures that are no longer awaited, or are lost, are left out."""
        awaited = [future for future in futures if future.key in self._under_way]
        finished = [future for future in awaited if future.status == "finished"]
        failed = [future for future in awaited if future.status == "error"]
        lost = [future for future in awaited if future.status not in ("finished", "error")]
        if lost and len(lost) == len(awaited):
            self._send_again()
            return []
        for future in lost:  # for the next call, after those that finished have been returned
            self._arrived.put(future)
        try:
            answers = self._link.gather(finished) if finished else []
            errors = [future.exception(timeout=GATHER_S) for future in failed]
        except LOST:
            self._send_again()
            return []
        arrivals = [Arrival(self._done(future), answer) for future, answer in zip(finished, answers, strict=True)]
        arrivals += [Arrival(self._done(future), {}, error) for future, error in zip(failed, errors, strict=True)]
        return arrivals

    def _done(self, future: Future[Any]) -> SentGroup:
        """Return the errand of a future, and stop waiting for it."""
        return self._under_way.pop(future.key)[1]

    def _send_again(self) -> None:
        """Send all errands under way over a new connection. Devices have stored what they measured in between."""
        self.send(self._restore())

    def _restore(self) -> list[SentGroup]:
        """Connect again. Returns the errands that were under way."""
        lost = [errand for _, errand in self._under_way.values()]
        self._under_way.clear()
        try:
            self._link.restore(AWAY_S)
        except DeviceAway as reason:
            self._lost = str(reason)
            raise
        self._listen()
        return lost

    def _check(self) -> None:
        """Raise `DeviceAway` at once if the scheduler stayed away before, without waiting for it again."""
        if self._lost:
            raise DeviceAway(self._lost)

    def _listen(self) -> None:
        with suppress(*LOST):
            self._link.listen(task.topic(self._errands.client), self._arrived.put)

    def _look(self) -> None:
        """Note every `LOOK_S` which devices are away, and since when."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return
        self._looked_at = now
        try:
            there = {name for each in self._link.present() for name in (each.name, each.pool)}
        except LOST:
            self._send_again()
            return
        for device in {errand.device for _, errand in self._under_way.values()}:
            if device in there:
                self._away_since.pop(device, None)
            elif now - self._away_since.setdefault(device, now) > AWAY_S:
                self._give_up(device)

    def _give_up(self, device: str) -> None:
        self.gone[device] = (
            f"device {device} has been away for {AWAY_S / 60:.0f} minutes. Once it is back, --ngraph-resume continues "
            "this run"
        )
        theirs = {key: future for key, (future, errand) in self._under_way.items() if errand.device == device}
        for key in theirs:
            del self._under_way[key]
        with suppress(*LOST, DeviceAway):
            self._link.cancel(list(theirs.values()))
