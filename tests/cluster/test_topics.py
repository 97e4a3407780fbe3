"""What the head keeps of messages to clients: nothing, once nobody listens."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from distributed.broker import Broker

from pytest_ngraph.cluster.device.task import topic
from pytest_ngraph.cluster.topics import ForgottenTopics

CONNECTION = "Client-1"


class Head:
    """The part of a scheduler that has to do with topics."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []
        self.plugins: dict[str, Any] = {}
        self._broker = Broker(1000, self)  # type: ignore[arg-type]
        self.plugins["ours"] = ForgottenTopics(self)  # type: ignore[arg-type]

    def send_all(self, client_msgs: dict[str, Any], worker_msgs: dict[str, Any]) -> None:
        self.sent += [(client, each["event"][1]) for client, messages in client_msgs.items() for each in messages]


def test_messages_are_passed_on_and_not_kept() -> None:
    head = Head()
    head._broker.subscribe(topic("session"), CONNECTION)
    for number in range(3):
        head._broker.publish(topic("session"), number)
    assert head.sent == [(CONNECTION, number) for number in range(3)]
    assert head._broker.get_events(topic("session")) == ()


def test_nothing_is_left_of_sessions_that_ended() -> None:
    head = Head()
    for number in range(100):
        connection = f"Client-{number}"
        head._broker.publish(["all", connection], {"action": "add-client"})
        head._broker.subscribe(topic(str(number)), connection)
        head._broker.publish(topic(str(number)), "measuring")
        head.plugins["ours"].remove_client(SimpleNamespace(), connection)
        head._broker.publish(topic(str(number)), "a device that has not heard of it")
    assert list(head._broker._topics) == []


def test_a_device_fills_no_memory_with_topics_of_its_own() -> None:
    head = Head()
    head._broker.subscribe("heard", CONNECTION)
    for number in range(100):
        head._broker.publish([f"anything {number}", "heard"], "a long text")
    assert list(head._broker._topics) == ["heard"]
    assert head._broker.get_events("heard") == ()
    assert len(head.sent) == 100
