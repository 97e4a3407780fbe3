"""A dispatch that answers what the test says."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any

from synthetic import measured

from pytest_ngraph.cluster.assignment import PLACE, Task
from pytest_ngraph.cluster.client.dispatch import Arrival
from pytest_ngraph.cluster.client.sent_groups import SentGroup

Answer = Callable[[SentGroup], Arrival]


class Way:
    """Answers each group with the next of `answers`, or else with its records; the group sent last first."""

    def __init__(self, *answers: Answer) -> None:
        self.gone: dict[str, str] = {}
        self.sent: list[SentGroup] = []
        self.delivered: list[tuple[str, list[str]]] = []
        self.refused: list[tuple[str, str]] = []
        self.messages: deque[dict[str, Any]] = deque()
        self._answers = deque(answers)
        self._coming: deque[SentGroup] = deque()

    def send(self, groups: Iterable[SentGroup]) -> None:
        self.sent += groups
        self._coming.extend(groups)

    def follow(self, groups: Iterable[SentGroup]) -> None:
        self.send(groups)

    def receive(self) -> list[dict[str, Any] | Arrival]:
        if self.messages:
            return [self.messages.popleft()]
        answer = self._answers.popleft() if self._answers else rows
        return [answer(self._coming.pop())]

    def deliver_to(self, address: str, digests: Collection[str], group: SentGroup) -> None:
        self.delivered.append((address, list(digests)))
        self.send([group])

    def refuse(self, group: SentGroup, machine: str, reason: str) -> bool:
        self.refused.append((machine, reason))
        self.send([group])
        return True

    def machines(self, device: str) -> int:
        """Return how many machines of a device can measure."""
        return 1

    def close(self) -> None:
        """Nothing is under way."""


def rows(group: SentGroup) -> Arrival:
    """Return the group's records, as a device sends them."""
    sent = Task.from_dict(group.data).cases
    follows_from = {"workload": sent[0].model_label, "files": {f"{PLACE}/nets.py": "d1", "/elsewhere/weights.pt": "d2"}}
    made = [measured(each, 0.1, follows_from=follows_from).to_dict() for each in sent]
    return Arrival(group, json.dumps({"rows": list(enumerate(made))}))


def fails(error: BaseException) -> Answer:
    return lambda group: Arrival(group, "", error)
