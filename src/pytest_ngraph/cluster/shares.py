"""The order in which a device measures the groups of several clients: one group of each, then the next of each.

A device begins the groups that it has in the order of their priority. By default that is the order in which they were
submitted, so that a client with many groups would keep the others waiting.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from pytest_ngraph.cluster.resources import KEY, resource

AGAIN = 1
"""Priority of a group that is submitted again because it could not be measured: its turn does not count."""


@dataclass(slots=True)
class Shares:
    """The turns of the clients of one device, or of one pool. The group with the lowest turn comes next.

    Attributes:
        next: the turn of each client's next group.
        pending: the turns of the groups that are not measured yet, by group.
        lowest: the lowest turn that is not over. Who comes begins there, and makes up for nothing.
    """

    next: dict[str, int] = field(default_factory=dict)
    pending: dict[Hashable, int] = field(default_factory=dict)
    lowest: int = 0

    def turn(self, client: str, group: Hashable, *, again: bool = False) -> int:
        """Return the turn in which a client's group is measured.

        Args:
            client: who submits it.
            group: what it is called.
            again: whether the client's last turn was of no use to it.
        """
        turn = max(self.next.get(client, 0) - again, self.lowest)
        self.next[client] = max(turn + 1, self.next.get(client, 0))
        self.pending[group] = turn
        return turn

    def ended(self, group: Hashable) -> None:
        """Note that a group was measured, or withdrawn."""
        del self.pending[group]
        self.lowest = max(self.lowest, min(self.pending.values() or self.next.values(), default=0))

    def forget(self, client: str) -> None:
        """Note that a client has left."""
        self.next.pop(client, None)


class FairOrder(SchedulerPlugin):
    """Puts the turn of each group that is submitted before its priority.

    Args:
        scheduler: the head.
    """

    name = f"{KEY}-shares"

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._shares: dict[str, Shares] = {}
        self._pending: dict[Hashable, Shares] = {}

    def update_graph(
        self, scheduler: Scheduler, *, client: str, tasks: Sequence[Any], priority: Mapping[Any, Any], **_: Any
    ) -> None:
        """Groups were submitted, and were not yet sent on to devices."""
        for key in sorted(tasks, key=lambda each: priority[each]):
            task = scheduler.tasks[key]
            device = next((each for each in task.resource_restrictions or () if each.startswith(f"{KEY}:")), "")
            if not device or key in self._pending:
                continue
            shares = self._pending[key] = self._shares.setdefault(self._pool(device), Shares())
            turn = shares.turn(client, key, again=priority[key][0] == -AGAIN)
            task.priority = (turn, *priority[key])

    def transition(self, key: Hashable, start: str, finish: str, *_: Any, **details: Any) -> None:
        """A task's state has changed. One whose device was lost is still to be measured."""
        if finish in ("memory", "erred", "forgotten") and key in self._pending:
            self._pending.pop(key).ended(key)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """A client has left. Its groups are forgotten one by one."""
        for shares in self._shares.values():
            shares.forget(client)

    def _pool(self, device: str) -> str:
        """Return the pool of a device: tests may ask for a machine by its own name and by that of its pool."""
        with suppress(LookupError, TypeError):  # it has left, or reports anything
            first = next(iter(self._scheduler.resources[device]))
            return resource(self._scheduler.workers[first].extra[KEY]["pool"])
        return device
