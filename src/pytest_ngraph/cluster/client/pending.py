"""The errands of a dispatch that have no answer yet, and what each of them waits for."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dask.typing import Key
from distributed import Future

from pytest_ngraph.cluster.client.errands import SentGroup


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


class Pending:
    """Errands without an answer."""

    def __init__(self) -> None:
        self._parked: dict[int, SentGroup] = {}
        self._sent: dict[Key, tuple[Future[Any], SentGroup]] = {}
        self._held: list[Held] = []

    @property
    def parked(self) -> list[SentGroup]:
        """The errands that are to be sent."""
        return list(self._parked.values())

    @property
    def devices(self) -> set[str]:
        """The devices that have errands."""
        return {errand.device for errand in self._all()}

    def hold(self, held: Held) -> None:
        """Note that errands wait for deliveries."""
        self._held.append(held)

    def awaiting(self, address: str) -> list[Held]:
        """Return the errands that waited for a delivery to this address alone, which has ended. They stay held."""
        for held in self._held:
            held.awaited.discard(address)
        return [held for held in self._held if not held.awaited]

    def release(self, held: Held) -> None:
        """Note that errands are held no more."""
        self._held.remove(held)

    def park(self, errands: Iterable[SentGroup]) -> None:
        """Note that errands are still to be sent: the connection may break, or no machine may be there to take them."""
        self._parked |= {errand.number: errand for errand in errands}

    def send(self, future: Future[Any], errand: SentGroup) -> None:
        """Note that an errand was sent, whose answer the future will have."""
        self._parked.pop(errand.number, None)
        self._sent[future.key] = future, errand

    def of(self, future: Future[Any]) -> SentGroup | None:
        """Return the errand of a future; None if nobody waits for it any more."""
        return self._sent[future.key][1] if future.key in self._sent else None

    def done(self, future: Future[Any]) -> SentGroup:
        """Return the errand of a future, and forget both."""
        return self._sent.pop(future.key)[1]

    def take(self, device: str | None = None) -> tuple[list[Future[Any]], list[SentGroup]]:
        """Return the futures and errands of a device, or of all, and forget them."""
        futures = [future for future, errand in self._sent.values() if device in (None, errand.device)]
        errands = list({each.number: each for each in self._all() if device in (None, each.device)}.values())
        for future in futures:
            del self._sent[future.key]
        self._held = [held for held in self._held if device not in (None, held.errands[0].device)]
        self._parked = {each: errand for each, errand in self._parked.items() if device not in (None, errand.device)}
        return futures, errands

    def strand(self, there: Collection[str]) -> list[Future[Any]]:
        """Park the errands that can go to no machine at these addresses. Returns their futures."""
        stranded = [
            (future, errand)
            for future, errand in self._sent.values()
            if errand.only and errand.only.keys().isdisjoint(there)
        ]
        for future, _ in stranded:
            del self._sent[future.key]
        self.park(errand for _, errand in stranded)
        return [future for future, _ in stranded]

    def _all(self) -> Iterable[SentGroup]:
        yield from (errand for _, errand in self._sent.values())
        yield from (errand for held in self._held for errand in held.errands)
        yield from self._parked.values()


def by_device(errands: Iterable[SentGroup]) -> Iterator[tuple[str, list[SentGroup]]]:
    """Yield each device with its errands, in their order."""
    for device, group in groupby(sorted(errands, key=lambda errand: errand.device), lambda errand: errand.device):
        yield device, list(group)
