"""Sends groups to devices, waits for their answers, and sends them again after the connection was lost."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from distributed import Future

from pytest_ngraph.clock import Clock
from pytest_ngraph.cluster.client.deliveries import Deliveries
from pytest_ngraph.cluster.client.link import GOODBYE_S, LOST, Link
from pytest_ngraph.cluster.client.pending import Held, Pending, by_device
from pytest_ngraph.cluster.client.refusals import Refusals
from pytest_ngraph.cluster.client.results import Results
from pytest_ngraph.cluster.client.sent_groups import SentGroup, SentGroups
from pytest_ngraph.cluster.client.watch import AWAY_S, Watch
from pytest_ngraph.cluster.device import task
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.resources import resource
from pytest_ngraph.cluster.shares import AGAIN
from pytest_ngraph.errors import DeviceAway, NgraphError

POLL_S = 1.0
ERROR_S = 60.0


class Arrival(NamedTuple):
    """The end of a group that was sent.

    Attributes:
        group: the group that was sent.
        answer: what `task.measure` returned, as it was sent: a text, if the device is honest; empty if it failed.
        error: why it failed.
    """

    group: SentGroup
    answer: Any
    error: BaseException | None = None


class Dispatch:
    """The groups under way.

    Nothing here waits for a device: what it is asked is answered later, so that one that is frozen delays no other.

    Args:
        link: the connection to the cluster.
        sent_groups: whose archives devices need.
        clock: where time comes from.

    Attributes:
        gone: devices that are no longer waited for, with a message that says why: they stayed away for too long, or
            refuse to measure.
        machines: returns how many machines of a device can measure, at the last look.
    """

    def __init__(self, link: Link, sent_groups: SentGroups, clock: Clock = time.monotonic) -> None:
        self._watch = Watch(clock)
        self.gone = self._watch.gone
        self._link = link
        self._sent_groups = sent_groups
        self._arrived: queue.SimpleQueue[Future[Any] | dict[str, Any] | Callable[[], None]] = queue.SimpleQueue()
        self._pending = Pending()
        self._refusals = Refusals()
        self.machines = self._refusals.count
        self._results = self._new_results()
        self._deliveries = self._new_deliveries()
        self._ready: list[Arrival] = []
        self._lost = ""
        self._listen()

    def send(self, groups: Iterable[SentGroup]) -> None:
        """Send groups to their devices, in this order. Raises `DeviceAway` if the scheduler stays away."""
        self._check()
        waiting = list(groups)
        while True:
            try:
                self._hand_out(waiting)
                return
            except LOST:  # `_restore` also returns those that were submitted before it broke
                waiting = list({group.number: group for group in (*self._restore(), *waiting)}.values())

    def follow(self, groups: Iterable[SentGroup]) -> None:
        """Send groups to devices that had some before, without asking what they lack: their tasks ask for it.

        Raises `DeviceAway` if the scheduler stays away.
        """
        self._check()
        waiting = list(groups)
        try:
            for device, own in by_device(waiting):
                self._submit(device, own)
        except LOST:
            self.send({group.number: group for group in (*self._restore(), *waiting)}.values())

    def receive(self) -> list[dict[str, Any] | Arrival]:
        """Return messages from devices, then groups that are done; an empty list if none comes for a moment.

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

    def deliver_to(self, address: str, digests: Collection[str], group: SentGroup) -> None:
        """Bring projects to a device that lacks them, and then send a group again.

        The group ends with the device's own error if the device has no room for them.
        """
        self._pending.hold(Held([group], {address}, asked=True))
        try:
            self._deliveries.bring(address, digests, group.device)
        except LOST:
            self._send_again()

    def refuse(self, group: SentGroup, machine: str, reason: str) -> bool:
        """Send a group that a machine refuses to another of its device, or give up a device if all of them refuse.

        Returns:
            Whether the machine refuses for the first time, and others of its device go on.

        Raises:
            Unreadable: the group cannot have gone to a machine of this name.
        """
        device = group.device
        try:
            self._refusals.see(self._link.present())
            is_new = self._refusals.add(device, machine, reason, group.only)
            if problem := self._refusals.by_all(device):
                self.gone[device] = problem
                self._give_up(device)
                return False
            self._submit(device, [group], again=True)
        except LOST:
            self.send({each.number: each for each in (*self._restore(), group)}.values())
            return False
        return is_new

    def close(self) -> None:
        """Cancel the groups under way, and have devices stop measuring for this client and remove its projects."""
        futures, _ = self._pending.take()
        self._deliveries.cancel()
        with suppress(*LOST, NgraphError):
            if futures:
                self._link.cancel(futures)
            addresses = [each.address for each in self._link.present()]
            digests = list(self._sent_groups.archives)
            self._link.run(task.stop, self._sent_groups.client, digests, on=addresses, timeout_s=2 * GOODBYE_S)

    def _hand_out(self, groups: Iterable[SentGroup]) -> None:
        """Submit groups, but those of devices that may lack a project only after it was brought to them."""
        there = self._link.present()
        self._refusals.see(there)
        for device, batch in by_device(groups):
            members = {each.address for each in there if device in (each.name, each.pool)}
            unready = {address for address in members if not self._deliveries.has_all(address)}
            if not unready:
                self._submit(device, batch)
                continue
            self._pending.hold(Held(batch, unready))
            for address in unready:
                self._deliveries.begin(address)

    def _delivered(self, address: str, problem: BaseException | None) -> None:
        """Submit what waited for a delivery alone. Its problem concerns the groups that asked for it.

        What was lost on the way is asked for again, by the tasks of the groups.
        """
        for held in self._pending.awaiting(address):
            if held.asked and not (problem is None or isinstance(problem, LOST)):
                self._ready += [Arrival(group, "", problem) for group in held.groups]
            else:
                for group in held.groups:
                    group.undelivered = "" if problem is None else str(problem) or "no answer"
                self._submit(held.groups[0].device, held.groups, again=held.asked)
            self._pending.release(held)

    def _submit(self, device: str, groups: Sequence[SentGroup], *, again: bool = False) -> None:
        """Submit groups, unless the machines of their device that do not refuse are away: then they are parked."""
        self._pending.park(groups)
        only: dict[str, str] = {}
        if self._refusals.concern(device):
            only = self._refusals.left(device, self._link.present())
            if not only:
                return
        data = [group.data for group in groups]
        futures = self._link.submit(task.measure, data, resource(device), AGAIN if again else 0, list(only))
        for future, group in zip(futures, groups, strict=True):
            group.only = only
            self._pending.send(future, group)
            future.add_done_callback(self._arrived.put)

    def _take(self, futures: Iterable[Future[Any]]) -> None:
        """Note the ends of groups, and fetch results. Futures that are no longer awaited are left out."""
        awaited = [(future, group) for future in futures if (group := self._pending.of(future))]
        for future, group in awaited:
            if future.status == "finished":
                self._results.add(group.device, future)
            elif future.status == "error":
                error = future.exception(timeout=ERROR_S)
                self._ready.append(Arrival(self._done(future), "", error))
        if any(self._pending.of(future) and future.status not in ("finished", "error") for future, _ in awaited):
            raise ConnectionError("a device left the cluster with its results")

    def _fetched(self, future: Future[Any], answer: Any, error: BaseException | None) -> None:
        if self._pending.of(future):
            self._ready.append(Arrival(self._done(future), answer, error))

    def _done(self, future: Future[Any]) -> SentGroup:
        """Return the group of a future, and give up the future: else it is measured again if its device dies."""
        future.release()
        return self._pending.done(future)

    def _send_again(self) -> None:
        """Send all groups under way over a new connection. Devices have stored what they measured in between."""
        self.send(self._restore())

    def _restore(self) -> list[SentGroup]:
        """Connect again. Returns the groups that were under way."""
        _, lost = self._pending.take()
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
        sent_groups = self._sent_groups
        return Deliveries(self._link, sent_groups.archives, sent_groups.client, self._arrived.put, self._delivered)

    def _new_results(self) -> Results:
        return Results(self._link, self._arrived.put, self._fetched)

    def _check(self) -> None:
        """Raise `DeviceAway` at once if the scheduler stayed away before, without waiting for it again."""
        if self._lost:
            raise DeviceAway(self._lost)

    def _listen(self) -> None:
        with suppress(*LOST):
            self._link.listen(task.topic(self._sent_groups.client), self._hear)

    def _hear(self, message: Any) -> None:
        if isinstance(message, dict):  # a device may send anything
            self._arrived.put(message)

    def _look(self) -> list[dict[str, Any] | Arrival]:
        """Look after the devices from time to time, and give up those that stayed away. Returns messages on others."""
        if not self._watch.is_due:
            return []
        try:
            present = self._link.present()
            self._refusals.see(present)
            messages = self._watch.look(self._refusals.without(present), self._pending.devices)
            self._move_stranded(present)
        except LOST:
            self._send_again()
            return []
        for device in self._pending.devices & set(self.gone):
            self._give_up(device)
        return [*messages]

    def _move_stranded(self, present: Collection[JoinedDevice]) -> None:
        """Send groups again that wait for machines which are away. These have another address when they come back."""
        if futures := self._pending.strand({each.address for each in present}):
            self._link.cancel(futures)
        for device, own in by_device(self._pending.parked):
            self._submit(device, own, again=True)

    def _give_up(self, device: str) -> None:
        futures, _ = self._pending.take(device)
        with suppress(*LOST, DeviceAway):
            self._link.cancel(futures)
