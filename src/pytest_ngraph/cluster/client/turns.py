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
GROWN_S = 1.0
"""Time between two looks at every device: one may have got more machines."""


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
        self._changed: dict[str, None] = {}
        self._looked_at = clock()

    def add(self, groups: Iterable[SentGroup]) -> None:
        """Add groups after those that wait for the same device."""
        for group in groups:
            self._waiting.setdefault(group.device, deque()).append(group)
            self._changed[group.device] = None

    def take(self) -> list[SentGroup]:
        """Return the groups to send now. They count as sent until `done` or `put_back`.

        Only devices of which something has changed are looked at, and all of them every `GROWN_S`: a client asks for
        groups whenever something arrives, however many devices there are.
        """
        now = self._clock()
        changed, self._changed = self._changed, {}
        if now - self._looked_at >= GROWN_S:
            self._looked_at = now
            changed |= dict.fromkeys(self._waiting)
        taken: list[SentGroup] = []
        for device in changed:
            waiting = self._waiting[device]
            if now < self._not_before.get(device, 0.0):
                self._changed[device] = None
                continue
            while waiting and self._sent[device] < AHEAD * self._machines(device):
                self._sent[device] += 1
                taken.append(waiting.popleft())
        return taken

    def done(self, group: SentGroup) -> None:
        """Note that a group that was sent has its records."""
        self._sent[group.device] -= 1
        self._changed[group.device] = None

    def put_back(self, group: SentGroup) -> None:
        """Send a group again, before the others of its device, but none of them within `AGAIN_S`."""
        self._sent[group.device] -= 1
        self._waiting[group.device].appendleft(group)
        self._changed[group.device] = None
        self._not_before[group.device] = self._clock() + AGAIN_S
