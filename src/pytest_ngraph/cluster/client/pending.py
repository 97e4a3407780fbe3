"""The groups of a dispatch that have no answer yet, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dask.typing import Key
from distributed import Future

from pytest_ngraph.cluster.client.sent_groups import SentGroup


@dataclass(slots=True)
class Held:
    """Groups that wait for deliveries.

    Attributes:
        groups: those of one device.
        awaited: addresses of the machines that still get something.
        asked: whether a task asked for the delivery, so that the groups cannot do without it.
    """

    groups: list[SentGroup]
    awaited: set[str]
    asked: bool = False


class Pending:
    """Groups without an answer."""

    def __init__(self) -> None:
        self._parked: dict[int, SentGroup] = {}
        self._sent: dict[Key, tuple[Future[Any], SentGroup]] = {}
        self._held: list[Held] = []

    @property
    def parked(self) -> list[SentGroup]:
        """The groups that are to be sent."""
        return list(self._parked.values())

    @property
    def devices(self) -> set[str]:
        """The devices that have groups."""
        return {group.device for group in self._all()}

    def hold(self, held: Held) -> None:
        """Note that groups wait for deliveries."""
        self._held.append(held)

    def awaiting(self, address: str) -> list[Held]:
        """Return the groups that waited for a delivery to this address alone, which has ended. They stay held."""
        for held in self._held:
            held.awaited.discard(address)
        return [held for held in self._held if not held.awaited]

    def release(self, held: Held) -> None:
        """Note that groups are held no more."""
        self._held.remove(held)

    def park(self, groups: Iterable[SentGroup]) -> None:
        """Note that groups are to be sent, in case the connection breaks or no machine can take them."""
        self._parked |= {group.number: group for group in groups}

    def send(self, future: Future[Any], group: SentGroup) -> None:
        """Note that a group was sent, whose answer the future will have."""
        self._parked.pop(group.number, None)
        self._sent[future.key] = future, group

    def of(self, future: Future[Any]) -> SentGroup | None:
        """Return the group of a future; None if nobody waits for it any more."""
        return self._sent[future.key][1] if future.key in self._sent else None

    def done(self, future: Future[Any]) -> SentGroup:
        """Return the group of a future, and forget both."""
        return self._sent.pop(future.key)[1]

    def take(self, device: str | None = None) -> tuple[list[Future[Any]], list[SentGroup]]:
        """Return the futures and groups of a device, or of all, and forget them."""
        futures = [future for future, group in self._sent.values() if device in (None, group.device)]
        groups = list({each.number: each for each in self._all() if device in (None, each.device)}.values())
        for future in futures:
            del self._sent[future.key]
        self._held = [held for held in self._held if device not in (None, held.groups[0].device)]
        self._parked = {each: group for each, group in self._parked.items() if device not in (None, group.device)}
        return futures, groups

    def strand(self, there: Collection[str]) -> list[Future[Any]]:
        """Park the groups that can go to no machine at these addresses. Returns their futures."""
        stranded = [
            (future, group)
            for future, group in self._sent.values()
            if group.only and group.only.keys().isdisjoint(there)
        ]
        for future, _ in stranded:
            del self._sent[future.key]
        self.park(group for _, group in stranded)
        return [future for future, _ in stranded]

    def _all(self) -> Iterable[SentGroup]:
        yield from (group for _, group in self._sent.values())
        yield from (group for held in self._held for group in held.groups)
        yield from self._parked.values()


def by_device(groups: Iterable[SentGroup]) -> Iterator[tuple[str, list[SentGroup]]]:
    """Yield each device with its groups, in their order."""
    for device, own in groupby(sorted(groups, key=lambda group: group.device), lambda group: group.device):
        yield device, list(own)
