"""Keeps the head from collecting messages: the engine keeps a thousand of each topic, and a device may name any."""

from __future__ import annotations

from typing import Any

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from pytest_ngraph.cluster.resources import KEY


class ForgottenTopics(SchedulerPlugin):
    """Drops messages once they were passed on, and a topic once no client listens to it.

    Args:
        scheduler: the head. Its topics have no public interface.
    """

    name = f"{KEY}-topics"

    def __init__(self, scheduler: Scheduler) -> None:
        self._topics = scheduler._broker._topics

    def log_event(self, topic: str, msg: Any) -> None:
        """A message was passed on: it is only for display, so nobody asks for it again."""
        self._topics[topic].truncate()
        self._drop_unheard(topic)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """A client has left, and with it the topic on its own coming and going."""
        self._topics.pop(client, None)
        for name, topic in list(self._topics.items()):
            if client in topic.subscribers:
                topic.unsubscribe(client)
                self._drop_unheard(name)

    def _drop_unheard(self, topic: str) -> None:
        if not self._topics[topic].subscribers:
            del self._topics[topic]
