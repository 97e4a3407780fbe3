"""What a dispatch sends over its link, and what it does when the link breaks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from cluster.devices import ORIN
from cluster.fake_link import AWAY, Time, Way, answered, group, over, until, worked_off
from synthetic import case

from pytest_ngraph.cluster.client import dispatch, watch
from pytest_ngraph.cluster.client.link import Answer
from pytest_ngraph.cluster.client.sent_groups import SentGroup
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.cluster.resources import resource
from pytest_ngraph.cluster.shares import AGAIN
from pytest_ngraph.errors import DeviceAway, NgraphError

PROJECT, OTHER = Packed(digest="d1", content=b"project"), Packed(digest="d2", content=b"other")
XEON = dataclasses.replace(ORIN, name="xeon", pool="xeon", address="tcp://xeon")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0.001)


def test_a_device_gets_the_projects_that_it_lacks_and_then_its_groups() -> None:
    way = Way(is_up=True, devices=[ORIN, XEON], has={ORIN.address: [OTHER.digest]})
    ours = over(way, PROJECT, OTHER)
    ours.send([group(0, "orin"), group(1, "orin")])
    worked_off(ours)
    assert way.arrived == [
        ("tcp://orin", "d1", b"project"),
        (resource("orin"), {"group": 0}),
        (resource("orin"), {"group": 1}),
    ]
    ours.send([group(2, "orin")])
    assert way.arrived[3:] == [(resource("orin"), {"group": 2})]
    assert way.priorities == [0, 0]


def test_a_project_is_delivered_to_the_device_that_asks_for_it_and_the_group_is_sent_again() -> None:
    way = Way(is_up=True, devices=[ORIN, XEON])
    ours = over(way, PROJECT, OTHER)
    ours.deliver_to("tcp://xeon", ["d2"], group(0, "xeon"))
    worked_off(ours)
    assert way.arrived == [("tcp://xeon", "d2", b"other"), (resource("xeon"), {"group": 0})]
    assert way.priorities == [AGAIN]


def test_a_device_has_nothing_brought_to_another() -> None:
    """Its owner could keep others from measuring: they take archives only while they measure nothing."""
    way = Way(is_up=True, devices=[ORIN, XEON])
    ours = over(way, PROJECT)
    ours.deliver_to(ORIN.address, [PROJECT.digest], group(0, "xeon"))
    worked_off(ours)
    assert way.arrived == [(resource("xeon"), {"group": 0})]


@pytest.mark.parametrize("answer", [7, ["d9", 7, ["d1"]], "d1", None])
def test_a_device_that_asks_for_what_there_is_not_gets_nothing(answer: Any) -> None:
    class Odd(Way):
        def ask(self, function: Callable[..., Any], *arguments: Any, of: str, timeout_s: float = 0.0) -> Answer:
            return answered(answer)

    way = Odd(is_up=True, devices=[XEON])
    ours = over(way, PROJECT)
    ours.send([group(0, "xeon")])
    worked_off(ours)
    assert way.arrived == [(resource("xeon"), {"group": 0})]


def test_a_device_without_room_ends_the_group_that_asks() -> None:
    way = Way(is_up=True, devices=[XEON], refuses={XEON.address: NgraphError("no space left")})
    ours = over(way, PROJECT)
    sent = group(0, "xeon")
    ours.send([sent])
    worked_off(ours)
    assert way.arrived[1:] == [(resource("xeon"), {"group": 0})], "it is sent all the same"
    ours.deliver_to(XEON.address, ["d1"], sent)
    (arrival,) = until(ours, 1)
    assert (arrival.group, str(arrival.error)) == (sent, "no space left")


def test_a_project_that_is_lost_on_the_way_is_asked_for_again() -> None:
    way = Way(is_up=True, devices=[XEON], refuses={XEON.address: TimeoutError("part 2 of 3 was not taken")})
    ours = over(way, PROJECT)
    sent = group(0, "xeon")
    ours.deliver_to(XEON.address, ["d1"], sent)
    worked_off(ours)
    assert way.arrived[1:] == [(resource("xeon"), {"group": 0})]
    assert sent.undelivered == "part 2 of 3 was not taken"
    way.lets_through()
    ours.deliver_to(XEON.address, ["d1"], sent)
    worked_off(ours)
    assert sent.undelivered == ""


def test_a_frozen_device_delays_no_other() -> None:
    way = Way(is_up=True, devices=[ORIN, XEON], frozen=[ORIN.address])
    ours = over(way, PROJECT)
    ours.send([group(0, "orin"), group(1, "xeon")])
    worked_off(ours)
    assert way.arrived == [("tcp://xeon", "d1", b"project"), (resource("xeon"), {"group": 1})]
    (question,) = way.open
    question.set_exception(TimeoutError())
    worked_off(ours)
    assert way.arrived[2:] == [(resource("orin"), {"group": 0})], "its task asks for what it lacks"


def test_a_frozen_device_keeps_only_its_own_results(monkeypatch: pytest.MonkeyPatch) -> None:
    way = Way(is_up=True, frozen=["orin"])
    ours = over(way)
    ours.send([group(0, "orin"), group(1, "xeon"), group(2, "orin")])
    for future in way.futures:
        future.become("finished")
    (arrival,) = until(ours, 1)
    assert arrival.group.device == "xeon"
    assert [future.is_released for future in way.futures] == [False, False, True], "no device need measure it again"
    assert worked_off(ours) == []
    assert way.gathered == [["ngraph:orin {'group': 0}", "ngraph:orin {'group': 2}"], ["ngraph:xeon {'group': 1}"]]
    way.frozen.clear()
    way.open[0].set_exception(TimeoutError())
    assert [each.group.number for each in until(ours, 2)] == [0, 2], "it is asked again"


def test_a_frozen_device_is_named() -> None:
    now = Time()
    way = Way(is_up=True, devices=[ORIN, XEON])
    ours = over(way, clock=now)
    ours.send([group(0, "orin"), group(1, "xeon")])
    for _ in range(5):
        now.now += watch.LOOK_S
        way.devices = [ORIN, dataclasses.replace(XEON, last_seen=now.now)]
        messages = ours.receive()
    assert messages == [{"waiting": "device orin-1 has not been heard of for 40 s", "worker": "orin-1"}]


def test_an_absence_of_a_quarter_of_an_hour() -> None:
    now = Time()
    way = Way(is_up=True, devices=[XEON])
    ours = over(way, clock=now)
    ours.send([group(0, "orin"), group(1, "xeon")])

    def passes(minutes: int, *there: JoinedDevice) -> list[Any]:
        came: list[Any] = []
        for _ in range(minutes * 6):
            now.now += watch.LOOK_S
            way.devices = [dataclasses.replace(each, last_seen=now.now) for each in there]
            came += ours.receive()
        return came

    messages = passes(15, XEON)
    assert messages[0] == {"waiting": "device orin is away, and is waited for up to 15 minutes more", "worker": "orin"}
    assert not ours.gone
    assert passes(1, ORIN, XEON) == []
    passes(15, XEON)
    assert not ours.gone, "it was back for a minute"
    passes(1, XEON)
    assert list(ours.gone) == ["orin"]
    assert "device orin has been away for 15 minutes" in ours.gone["orin"]
    assert way.cancelled == ["ngraph:orin {'group': 0}"]
    way.futures[1].become("finished")
    assert [each.group.number for each in until(ours, 1)] == [1], "the rest goes on"


def test_a_scheduler_that_stays_away_is_waited_for_once() -> None:
    way = Way(is_up=False)
    ours = over(way)
    for _ in range(2):
        with pytest.raises(DeviceAway, match=AWAY):
            ours.send([SentGroup(0, (case(),), {})])
        with pytest.raises(DeviceAway, match=AWAY):
            ours.receive()
    assert way.restored == 1
    assert way.arrived == []


def test_what_comes_together_is_fetched_in_one_request() -> None:
    way = Way(is_up=True)
    ours = over(way)
    sent = [SentGroup(number, (case(),), {"group": number}) for number in range(3)]
    ours.send(sent)
    for future, status in zip(way.futures, ("finished", "error", "finished"), strict=True):
        future.become(status)
    third, first, second = until(ours, 3)
    assert (first.group, second.group, third.group) == (sent[0], sent[2], sent[1])
    assert way.gathered == [[first.answer, second.answer]]
    assert isinstance(third.error, ValueError)


def test_what_finished_beside_something_lost_is_not_lost() -> None:
    class Restored(Way):
        def restore(self, patience_s: float) -> None:
            self.restored += 1

    way = Restored(is_up=True)
    ours = over(way)
    ours.send([SentGroup(number, (case(),), {"group": number}) for number in range(2)])
    way.futures[0].become("lost")
    way.futures[1].become("finished")
    worked_off(ours)
    assert way.restored == 1
    assert [data for _, data in way.arrived[2:]] == [{"group": 0}, {"group": 1}], "the device has stored it"
    for future in way.futures[2:]:
        future.become("finished")
    assert [each.group.number for each in until(ours, 2)] == [0, 1]


def test_what_was_submitted_before_the_way_was_lost_is_sent_once() -> None:
    class Breaking(Way):
        """Breaks once, after the first device has its groups."""

        def submit(self, *arguments: Any) -> list[Any]:
            if self.futures and not self.restored:
                raise ConnectionError
            return super().submit(*arguments)

        def restore(self, patience_s: float) -> None:
            self.restored += 1

    way = Breaking(is_up=True)
    ours = over(way)
    ours.send([SentGroup(number, (case(device=name),), {"group": number}) for number, name in enumerate(["a", "b"])])
    assert len(list(ours._pending._all())) == 2
    assert way.arrived == [
        (resource("a"), {"group": 0}),
        (resource("a"), {"group": 0}),  # over the new connection: the scheduler forgot the first one
        (resource("b"), {"group": 1}),
    ]
