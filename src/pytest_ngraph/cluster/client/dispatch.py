"""Sends groups to devices, waits for their answers, and sends them again after the connection was lost."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from dask.typing import Key
from distributed import Future

from pytest_ngraph.clock import Clock
from pytest_ngraph.cluster.client.deliveries import Deliveries
from pytest_ngraph.cluster.client.errands import Errands, SentGroup
from pytest_ngraph.cluster.client.link import GOODBYE_S, LOST, Link
from pytest_ngraph.cluster.client.results import Results
from pytest_ngraph.cluster.client.watch import AWAY_S, Watch
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import resource
from pytest_ngraph.cluster.shares import AGAIN
from pytest_ngraph.errors import DeviceAway, NgraphError

POLL_S = 1.0
ERROR_S = 60.0


class Arrival(NamedTuple):
    """The end of an errand.

    Attributes:
        errand: the group that was sent.
        answer: what `task.measure` returned, as it was sent: a text, if the device is honest; empty if it failed.
        error: why it failed.
    """

    errand: SentGroup
    answer: Any
    error: BaseException | None = None


@dataclass(slots=True)
class Held:
    """Errands that wait for deliveries.

    Attributes:
        errands: those of one device.
        awaited: addresses of the machines that still get something.
        asked: whether a task asked for the delivery, so that the errands cannot do without it.
    """

    errands: list[SentGroup]
    awaited: set[str]
    asked: bool = False


class Dispatch:
    """The errands under way.

    Nothing here waits for a device: what it is asked is answered later, so that one that is frozen delays no other.

    Args:
        link: the connection to the cluster.
        errands: whose archives devices need.
        clock: where time comes from.

    Attributes:
        gone: devices that stayed away for too long and are no longer waited for, with a message that says so.
    """

    def __init__(self, link: Link, errands: Errands, clock: Clock = time.monotonic) -> None:
        self._watch = Watch(clock)
        self.gone = self._watch.gone
        self._link = link
        self._errands = errands
        self._arrived: queue.SimpleQueue[Future[Any] | dict[str, Any] | Callable[[], None]] = queue.SimpleQueue()
        self._under_way: dict[Key, tuple[Future[Any], SentGroup]] = {}
        self._held: list[Held] = []
        self._results = self._new_results()
        self._deliveries = self._new_deliveries()
        self._ready: list[Arrival] = []
        self._lost = ""
        self._listen()

    def send(self, errands: Iterable[SentGroup]) -> None:
        """Send errands to their devices, in this order. Raises `DeviceAway` if the scheduler stays away."""
        self._check()
        waiting = list(errands)
        while True:
            try:
                self._hand_out(waiting)
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
            for device, group in _by_device(waiting):
                self._submit(device, group)
        except LOST:
            self.send({errand.number: errand for errand in (*self._restore(), *waiting)}.values())

    def receive(self) -> list[dict[str, Any] | Arrival]:
        """Return messages from devices, then errands that are done; an empty list if none comes for a moment.

        Raises `DeviceAway` if the scheduler stays away.
        """
        self._check()
        messages = self._look()
        try:
            received = [self._arrived.get(timeout=POLL_S)]
        except queue.Empty:
            return messages
        with suppress(queue.Empty):
            while True:
                received.append(self._arrived.get_nowait())
        messages += [each for each in received if isinstance(each, dict)]
        try:
            self._take([each for each in received if isinstance(each, Future)])
            for each in received:
                if not isinstance(each, (dict, Future)):
                    each()
        except LOST:
            self._send_again()
        ready, self._ready = self._ready, []
        return [*messages, *ready]

    def deliver_to(self, address: str, digests: Collection[str], errand: SentGroup) -> None:
        """Bring projects to a device that lacks them, and then send an errand again.

        The errand ends with the device's own error if the device has no room for them.
        """
        self._held.append(Held([errand], {address}, asked=True))
        try:
            self._deliveries.bring(address, digests)
        except LOST:
            self._send_again()

    def close(self) -> None:
        """Cancel the errands under way, and have devices stop measuring for this client and remove its projects."""
        futures = [future for future, _ in self._under_way.values()]
        self._under_way.clear()
        self._deliveries.cancel()
        with suppress(*LOST, NgraphError):
            if futures:
                self._link.cancel(futures)
            addresses = [each.address for each in self._link.present()]
            digests = list(self._errands.archives)
            self._link.run(task.stop, self._errands.client, digests, on=addresses, timeout_s=2 * GOODBYE_S)

    def _hand_out(self, errands: Iterable[SentGroup]) -> None:
        """Submit errands, but those of devices that may lack a project only after it was brought to them."""
        there = self._link.present()
        for device, batch in _by_device(errands):
            members = {each.address for each in there if device in (each.name, each.pool)}
            unready = {address for address in members if not self._deliveries.has_all(address)}
            if not unready:
                self._submit(device, batch)
                continue
            self._held.append(Held(batch, unready))
            for address in unready:
                self._deliveries.begin(address)

    def _delivered(self, address: str, problem: BaseException | None) -> None:
        """Submit what waited for a delivery alone. Its problem concerns the errands that asked for it."""
        for held in [each for each in self._held if address in each.awaited]:
            held.awaited.discard(address)
            if held.awaited:
                continue
            if problem is not None and held.asked:
                self._ready += [Arrival(errand, "", problem) for errand in held.errands]
            else:
                self._submit(held.errands[0].device, held.errands, again=held.asked)
            self._held.remove(held)

    def _submit(self, device: str, errands: Sequence[SentGroup], *, again: bool = False) -> None:
        data = [errand.data for errand in errands]
        futures = self._link.submit(task.measure, data, resource(device), AGAIN if again else 0)
        for future, errand in zip(futures, errands, strict=True):
            self._under_way[future.key] = (future, errand)
            future.add_done_callback(self._arrived.put)

    def _take(self, futures: Iterable[Future[Any]]) -> None:
        """Note the ends of errands, and fetch results. Futures that are no longer awaited are left out."""
        awaited = [future for future in futures if future.key in self._under_way]
        for future in awaited:
            if future.status == "finished":
                self._results.add(self._under_way[future.key][1].device, future)
            elif future.status == "error":
                error = future.exception(timeout=ERROR_S)
                self._ready.append(Arrival(self._done(future), "", error))
        if any(future.key in self._under_way and future.status not in ("finished", "error") for future in awaited):
            raise ConnectionError("a device left the cluster with its results")

    def _fetched(self, future: Future[Any], answer: Any) -> None:
        if future.key in self._under_way:
            self._ready.append(Arrival(self._done(future), answer))

    def _done(self, future: Future[Any]) -> SentGroup:
        """Return the errand of a future, and give up the future: else it is measured again if its device dies."""
        future.release()
        return self._under_way.pop(future.key)[1]

    def _send_again(self) -> None:
        """Send all errands under way over a new connection. Devices have stored what they measured in between."""
        self.send(self._restore())

    def _restore(self) -> list[SentGroup]:
        """Connect again. Returns the errands that were under way."""
        lost = [errand for _, errand in self._under_way.values()]
        lost += [errand for held in self._held for errand in held.errands]
        self._under_way.clear()
        self._held.clear()
        self._deliveries.cancel()
        self._results.cancel()
        try:
            self._link.restore(AWAY_S)
        except DeviceAway as reason:
            self._lost = str(reason)
            raise
        self._results = self._new_results()
        self._deliveries = self._new_deliveries()
        self._listen()
        return lost

    def _new_deliveries(self) -> Deliveries:
        errands = self._errands
        return Deliveries(self._link, errands.archives, errands.client, self._arrived.put, self._delivered)

    def _new_results(self) -> Results:
        return Results(self._link, self._arrived.put, self._fetched)

    def _check(self) -> None:
        """Raise `DeviceAway` at once if the scheduler stayed away before, without waiting for it again."""
        if self._lost:
            raise DeviceAway(self._lost)

    def _listen(self) -> None:
        with suppress(*LOST):
            self._link.listen(task.topic(self._errands.client), self._hear)

    def _hear(self, message: Any) -> None:
        if isinstance(message, dict):  # a device may send anything
            self._arrived.put(message)

    def _look(self) -> list[dict[str, Any] | Arrival]:
        """Look after the devices from time to time, and give up those that stayed away. Returns messages on others."""
        if not self._watch.is_due:
            return []
        try:
            messages = self._watch.look(self._link.present(), self._awaited)
        except LOST:
            self._send_again()
            return []
        for device in self._awaited & set(self.gone):
            self._give_up(device)
        return [*messages]

    @property
    def _awaited(self) -> set[str]:
        """The devices that have errands."""
        held = {errand.device for each in self._held for errand in each.errands}
        return held | {errand.device for _, errand in self._under_way.values()}

    def _give_up(self, device: str) -> None:
        self._held = [held for held in self._held if held.errands[0].device != device]
        theirs = {key: future for key, (future, errand) in self._under_way.items() if errand.device == device}
        for key in theirs:
            del self._under_way[key]
        with suppress(*LOST, DeviceAway):
            self._link.cancel(list(theirs.values()))


def _by_device(errands: Iterable[SentGroup]) -> Iterator[tuple[str, list[SentGroup]]]:
    """Yield each device with its errands, in their order."""
    for device, group in groupby(sorted(errands, key=lambda errand: errand.device), lambda errand: errand.device):
        yield device, list(group)
