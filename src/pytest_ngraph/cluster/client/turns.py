"""Sends each device only the next few groups of a session, so that clients of one device take turns.

A device measures one group of each client, then the next of each (`cluster/shares.py`). What is not sent yet takes none
of the head's memory, and can still go to any machine of a pool.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

from pytest_ngraph.cluster.client.sent_groups import SentGroup

AHEAD = 2
"""Groups that a machine has at a time: the one that it measures, and the next, so that it never waits for a client."""
AGAIN_S = 10.0
"""Time until a device that is reserved for somebody else is asked again."""


class Turns:
    """The groups of a session that are not measured yet.

    Args:
        machines: returns how many machines a device has.
        clock: where time comes from.
    """

    def __init__(self, machines: Callable[[str], int], clock: Callable[[], float] = time.monotonic) -> None:
        self._machines = machines
        self._clock = clock
        self._waiting: dict[str, deque[SentGroup]] = {}
        self._sent: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}

    def add(self, groups: Iterable[SentGroup]) -> None:
        """Add groups after those that wait for the same device."""
        for group in groups:
            self._waiting.setdefault(group.device, deque()).append(group)

    def take(self) -> list[SentGroup]:
        """Return the groups to send now. They count as sent until `done` or `put_back`."""
        taken: list[SentGroup] = []
        for device, waiting in self._waiting.items():
            if not waiting or self._clock() < self._not_before.get(device, 0.0):
                continue
            while waiting and self._sent[device] < AHEAD * self._machines(device):
                self._sent[device] += 1
                taken.append(waiting.popleft())
        return taken

    def done(self, group: SentGroup) -> None:
        """Note that a group that was sent has its records."""
        self._sent[group.device] -= 1

    def put_back(self, group: SentGroup) -> None:
        """Send a group again, before the others of its device, but none of them within `AGAIN_S`."""
        self._sent[group.device] -= 1
        self._waiting[group.device].appendleft(group)
        self._not_before[group.device] = self._clock() + AGAIN_S
