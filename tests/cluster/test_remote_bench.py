"""The remote bench, over a fake dispatch that answers what the test says."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import pytest
from cluster import fake_link
from cluster.devices import ORIN
from cluster.fake_dispatch import Way, fails, rows
from cluster.remote_bench import ROOT, Heard, bench
from distributed.scheduler import KilledWorker
from synthetic import case, measured

from pytest_ngraph.bench.asked import Asked
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import PLACE, Task
from pytest_ngraph.cluster.client.dispatch import Arrival
from pytest_ngraph.cluster.client.link import Answer
from pytest_ngraph.cluster.client.remote import TRIES
from pytest_ngraph.cluster.client.sent_groups import SentGroup
from pytest_ngraph.cluster.client.turns import AHEAD
from pytest_ngraph.cluster.client.watch import LOOK_S
from pytest_ngraph.cluster.presence import JoinedDevice
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.errors import DeviceAway, NgraphError
from pytest_ngraph.machine.machine import CXX
from pytest_ngraph.record import Record

ONE, TWO = case("identity"), case("identity", batch_size=2)
AT_ORIN = case("identity", device="orin")
LOST = KilledWorker("measure", None, 1)  # type: ignore[arg-type]  # the scheduler's own state of a worker


def test_everything_is_sent_out_at_once_and_taken_as_it_comes() -> None:
    way, devices = Way(), list[str]()
    ours = bench(way, [ONE], [TWO], devices=devices)
    assert [record.case for record in ours.run([ONE])] == [TWO, ONE]
    assert len(way.sent) == 2
    assert devices == ["xeon f"]


def test_what_is_asked_for_again_is_measured_again() -> None:
    way = Way()
    ours = bench(way, [ONE])
    for _ in range(2):
        assert [record.case for record in ours.run([ONE])] == [ONE]
    assert len(way.sent) == 2


def test_paths_travel_without_their_place() -> None:
    way = Way()
    here = case("identity", workload=f"{ROOT}/a/net.onnx")
    (record,) = bench(way, [here]).run([here])
    assert way.sent[0].data["cases"][0]["workload"] == f"{PLACE}/a/net.onnx"
    assert record.case == here
    assert record.follows_from["workload"] == here.model_label
    assert record.follows_from["files"] == {f"{ROOT}/nets.py": "d1", "/elsewhere/weights.pt": "d2"}


def test_what_is_asked_of_cases_travels_with_their_group() -> None:
    way, group = Way(), [case("identity"), case("tvm"), case("openvino")]
    asked = Asked(alone={group[1]}, calls=set(group[1:]), tails={group[2]})
    list(bench(way, group, asked=asked).run(group))
    task = Task.from_dict(way.sent[0].data)
    assert (task.alone, task.calls, task.tails) == ((1,), (1, 2), (2,))


def test_a_device_gets_what_it_lacks() -> None:
    way = Way(lambda group: Arrival(group, json.dumps({"needs": ["d"], "worker": "tcp://xeon"})))
    (record,) = bench(way, [ONE]).run([ONE])
    assert record.outcome == "measured"
    assert way.delivered == [("tcp://xeon", ["d"])]


def test_a_project_that_never_arrives_is_named_as_the_reason() -> None:
    class Asking(fake_link.Way):
        """Every task asks for the project, and every delivery of it is too slow."""

        def submit(self, *arguments: Any) -> list[Any]:
            futures = super().submit(*arguments)
            for future in futures:
                future.status = "finished"
                future.add_done_callback = lambda call, future=future: call(future)
            return futures

        def fetch(self, futures: Sequence[Any]) -> Answer:
            needed = json.dumps({"needs": ["d"], "worker": ORIN.address})
            return fake_link.answered([needed] * len(futures))

    way = Asking(is_up=True, devices=[ORIN], refuses={ORIN.address: asyncio.TimeoutError()})
    dispatch = fake_link.over(way, Packed(digest="d", content=b"project"))
    (record,) = bench(dispatch, [AT_ORIN]).run([AT_ORIN])
    assert record.failure is not None
    assert record.failure.message == (
        "the project could not be sent to device orin, which asked for it 5 times: no answer. See to the connection, "
        "or send less: --ngraph-send=PATTERN."
    )


class Pool(fake_link.Way):
    """Measures the first group of each batch at once, and the others never.

    Attributes:
        most: the most groups that were under way at a time.
    """

    most = 0

    def __init__(self, *devices: JoinedDevice) -> None:
        super().__init__(is_up=True, devices=devices)
        self._data: dict[str, Any] = {}

    def submit(self, function: Any, data: Sequence[Any], resource: str, *others: Any) -> list[Any]:
        futures = super().submit(function, data, resource, *others)
        self._data.update((future.key, each) for future, each in zip(futures, data, strict=True))
        self.most = max(self.most, len(self.futures) - sum(map(len, self.gathered)))
        futures[0].status = "finished"
        futures[0].add_done_callback = lambda call: call(futures[0])
        return futures

    def fetch(self, futures: Sequence[Any]) -> Answer:
        super().fetch(futures)
        return fake_link.answered([rows(SentGroup(0, (), self._data[future.key])).answer for future in futures])


def test_machines_that_join_a_pool_later_get_their_share() -> None:
    cases = [case("identity", device="orin", batch_size=size) for size in range(1, 21)]
    now, way = fake_link.Time(), Pool(ORIN)
    records = bench(fake_link.over(way, clock=now), *([each] for each in cases)).run(cases)
    for _ in range(3):
        next(records)
    assert way.most == AHEAD
    way.devices = [dataclasses.replace(ORIN, name=f"orin-{number}", address=f"tcp://{number}") for number in (1, 2, 3)]
    now.now += LOOK_S
    for _ in range(3):
        next(records)
    assert way.most == 3 * AHEAD


def test_a_group_whose_device_is_lost_is_sent_again_but_not_for_ever() -> None:
    (record,) = bench(Way(fails(LOST)), [ONE]).run([ONE])
    assert record.outcome == "measured"
    (record,) = bench(Way(*[fails(LOST)] * TRIES), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message == "device xeon left the cluster again and again while it had this group"


def test_a_device_that_raises_is_not_said_to_have_left() -> None:
    (record,) = bench(Way(*[fails(ValueError("no such\r function"))] * TRIES), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.kind == "raised"
    assert record.failure.message == "device xeon raised in place of an answer: no such\\r function"


def test_an_error_is_the_record_of_its_cases() -> None:
    way = Way(lambda group: Arrival(group, '{"failed": "ValueError: no"}'))
    (record,) = bench(way, [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message == "device xeon: ValueError: no"
    assert len(way.sent) == 1


def test_a_case_without_a_record_is_one_that_failed() -> None:
    def half(group: SentGroup) -> Arrival:
        arrival = rows(group)
        return arrival._replace(answer=json.dumps({"rows": json.loads(arrival.answer)["rows"][:1]}))

    other = case("tvm")
    found: dict[Case, Record] = {record.case: record for record in bench(Way(half), [ONE, other]).run([ONE, other])}
    assert found[ONE].outcome == "measured"
    assert found[other].outcome == "failed"


def test_nothing_is_awaited_of_a_device_that_is_gone() -> None:
    way = Way()
    way.gone["xeon"] = "device xeon has been away"
    with pytest.raises(DeviceAway, match="device xeon has been away"):
        list(bench(way, [ONE]).run([ONE]))


def test_messages_of_a_device_are_shown() -> None:
    way, heard = Way(), Heard()
    way.messages.append({"group": 1, "case": 0, "phase": "compile", "worker": "xeon"})
    way.messages.append({"group": 1, "waiting": "another process is measuring on this machine", "worker": "xeon"})
    list(bench(way, [ONE], [TWO], heard=heard).run([ONE]))
    assert heard.phases == [(TWO, "compile")]


def test_a_record_of_a_different_machine_of_the_pool_fails() -> None:
    def elsewhere(group: SentGroup) -> Arrival:
        record = measured(ONE, 0.1, follows_from={"machine": "other", "files": {}})
        return Arrival(group, json.dumps({"rows": [(0, record.to_dict())]}))

    (record,) = bench(Way(elsewhere), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message.endswith(
        "differs from the one that this run began with: fingerprint is other, was f. If its power limit, power mode or "
        "clocks were set since, run again."
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"variables": {"OMP_SCHEDULE": "static"}}, "OMP_SCHEDULE is static, was unset"),
        ({"libraries": {"torch": "2.7"}}, "torch is 2.7, was 2.6"),
        ({CXX: "g++ 13"}, f"{CXX} is g++ 13, was g++ 12"),
    ],
    ids=["variable", "library", "compiler"],
)
def test_a_device_that_changed_during_the_run_is_named_with_what_changed(changed: dict[str, Any], words: str) -> None:
    def later(group: SentGroup) -> Arrival:
        record = measured(ONE, 0.1, follows_from={"machine": "f", "files": {}, "variables": {}, **changed})
        return Arrival(group, json.dumps({"rows": [(0, record.to_dict())]}))

    (record,) = bench(Way(later), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message.endswith(f"differs from the one that this run began with: {words}")


def test_what_a_device_measured_again_is_noted() -> None:
    def again(group: SentGroup) -> Arrival:
        arrival = rows(group)
        return arrival._replace(answer=json.dumps(json.loads(arrival.answer) | {"again": [(0, "weights.pt changed")]}))

    noted: dict[Case, str] = {}
    list(bench(Way(again), [ONE], again=noted).run([ONE]))
    assert noted == {ONE: "weights.pt changed"}


def test_a_device_that_leaves_often_but_gets_on_fails_nothing() -> None:
    """When a device leaves, the engine suspects all that waits there, not only what it was measuring."""

    class Leaving(Way):
        """A device that leaves before each group, so that all that wait fail each time."""

        def receive(self) -> list[dict[str, Any] | Arrival]:
            done, waiting = rows(self._coming.popleft()), list(self._coming)
            self._coming.clear()
            return [*(Arrival(group, "", LOST) for group in waiting), done]

    groups = [[case("identity", batch_size=size)] for size in range(1, 3 * TRIES)]
    ours = bench(Leaving(), *groups)
    found = [record for group in groups for record in ours.run(group) if record.case == group[0]]
    assert [record.outcome for record in found] == ["measured"] * len(groups)


def test_a_device_without_room_fails_what_it_cannot_take() -> None:
    way = Way(fails(NgraphError("the project cannot be unpacked: no space left")))
    (record,) = bench(way, [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message == "device xeon: the project cannot be unpacked: no space left"


def test_a_device_gets_its_next_groups_only_as_it_measures() -> None:
    way, cases = Way(), [case("identity", batch_size=size) for size in range(1, 7)]
    ours = bench(way, *([each] for each in cases))
    records = ours.run(cases[-1:])
    next(records)
    assert [group.number for group in way.sent] == [0, 1, 2]
    list(records)
    assert sorted(group.number for group in way.sent) == [0, 1, 2, 3, 4, 5]


def test_a_reserved_device_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.cluster.client.turns.AGAIN_S", 0.0)
    reserved = json.dumps({"reserved": {"by": "anna@head", "left_s": 5400.4}})
    way, heard = Way(*[lambda group: Arrival(group, reserved)] * (2 * TRIES)), Heard()
    (record,) = bench(way, [ONE], heard=heard).run([ONE])
    assert record.outcome == "measured"
    assert set(heard.waits) == {"xeon is reserved for anna@head for another 1:30:00"}
