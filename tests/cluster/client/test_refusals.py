"""A machine that refuses to measure: the others of its device go on, and it gets nothing more."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, cast

import pytest
from cluster.devices import ORIN
from cluster.fake_link import Time, Way, answered, group, over, until, worked_off
from cluster.remote_bench import bench
from synthetic import case

from pytest_ngraph.cluster.answers import Unreadable
from pytest_ngraph.cluster.client import dispatch, watch
from pytest_ngraph.cluster.client.link import Answer
from pytest_ngraph.cluster.client.refusals import Refusals
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.errors import DeviceAway

ONE, TWO, THREE = (
    dataclasses.replace(ORIN, name=f"orin-{number}", address=f"tcp://orin-{number}") for number in (1, 2, 3)
)
HOT = "91 °C, more than 85 °C"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0.001)


def test_what_one_machine_refuses_goes_to_the_others_of_its_pool() -> None:
    way = Way(is_up=True, devices=[ONE, TWO, THREE])
    ours = over(way)
    first, second = group(0, "orin"), group(1, "orin")
    ours.send([first, second])
    worked_off(ours)
    for future in way.futures:
        future.become("finished")
    until(ours, 2)
    assert ours.refuse(first, "orin-2", HOT)
    assert not ours.refuse(second, "orin-2", HOT), "it is said once"
    ours.send([group(2, "orin")])
    assert way.only == [[], *[[ONE.address, THREE.address]] * 3]
    assert not ours.gone
    assert way.cancelled == []


def test_a_device_is_given_up_once_every_machine_has_refused() -> None:
    way = Way(is_up=True, devices=[ONE, TWO])
    ours = over(way)
    sent, other = group(0, "orin"), group(1, "orin")
    ours.send([sent, other])
    worked_off(ours)
    way.futures[0].become("finished")
    until(ours, 1)
    assert ours.refuse(sent, "orin-1", HOT)
    assert not ours.gone
    way.futures[2].become("finished")
    until(ours, 1)
    assert not ours.refuse(sent, "orin-2", "1 % of the battery, less than 20 %")
    said = f"device orin refuses to measure: orin-1: {HOT}; orin-2: 1 % of the battery, less than 20 %. Once that is"
    assert ours.gone["orin"].startswith(said)
    assert way.cancelled == ["ngraph:orin {'group': 1}"]


def test_a_machine_that_comes_back_under_another_address_gets_what_waited_for_it() -> None:
    now, way = Time(), Way(is_up=True, devices=[ONE, TWO])
    ours = over(way, clock=now)
    sent = group(0, "orin")
    ours.send([sent])
    worked_off(ours)
    way.futures[0].become("finished")
    until(ours, 1)
    ours.refuse(sent, "orin-1", HOT)

    def passes(*there: Any) -> list[Any]:
        now.now += watch.LOOK_S
        way.devices = [dataclasses.replace(each, last_seen=now.now) for each in there]
        return worked_off(ours)

    away = [{"waiting": "device orin is away, and is waited for up to 15 minutes more", "worker": "orin"}]
    assert passes(ONE) == away, "the machine that refuses does not count"
    assert way.cancelled == ["ngraph:orin {'group': 0}"]
    assert way.only == [[], [TWO.address]]
    assert passes(ONE, dataclasses.replace(TWO, address="tcp://orin-2:7")) == []
    assert way.only == [[], [TWO.address], ["tcp://orin-2:7"]]


@pytest.mark.parametrize("machine", ["", "orin", "xeon", "orin-9"])
def test_a_machine_that_does_not_name_itself_is_not_sent_the_same_again_and_again(machine: str) -> None:
    way = Way(is_up=True, devices=[ONE, TWO])
    ours = over(way)
    ours.send([group(0, "orin")])
    with pytest.raises(Unreadable, match="it does not say which of its machines refuses"):
        ours.refuse(group(0, "orin"), machine, HOT)


def test_who_has_refused_cannot_refuse_for_others() -> None:
    way = Way(is_up=True, devices=[ONE, TWO, THREE])
    ours = over(way)
    sent = group(0, "orin")
    ours.send([sent])
    ours.refuse(sent, "orin-1", HOT)
    with pytest.raises(Unreadable):
        ours.refuse(sent, "orin-1", HOT)


def test_a_device_of_one_machine_that_refuses_is_given_up_with_its_reason() -> None:
    refused = json.dumps({"refused": HOT, "machine": "xeon"})

    class Refusing(Way):
        def submit(self, *arguments: Any) -> list[Any]:
            futures = super().submit(*arguments)
            for future in futures:
                future.status = "finished"
                future.add_done_callback = lambda hear, future=future: hear(future)
            return futures

        def fetch(self, futures: Sequence[Any]) -> Answer:
            return answered([refused for _ in futures])

    xeon = dataclasses.replace(ORIN, name="xeon", pool="xeon")
    ours = over(Refusing(is_up=True, devices=[xeon]))
    one = case("identity")
    with pytest.raises(DeviceAway, match=f"^device xeon refuses to measure: {HOT}" + r"\. .*--ngraph-resume"):
        list(bench(ours, [one]).run([one]))


def test_counting_the_machines_of_a_device_looks_at_none_of_them() -> None:
    """With a hundred devices, that took most of a client's time."""

    class Machine:
        def __init__(self, name: str) -> None:
            self._name = name
            self.looks = 0
            self.pool, self.address = "orin", f"tcp://{name}"

        @property
        def name(self) -> str:
            self.looks += 1
            return self._name

    machines, refusals = [Machine("orin-1"), Machine("orin-2")], Refusals()
    refusals.see(cast("list[JoinedDevice]", machines))
    looks = [each.looks for each in machines]
    assert [refusals.count(device) for device in ("orin", "orin-1", "xeon")] == [2, 1, 0]
    assert [each.looks for each in machines] == looks
    refusals.add("orin", "orin-1", HOT, {})
    assert [refusals.count(device) for device in ("orin", "orin-1")] == [1, 0]
