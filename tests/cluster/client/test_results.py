"""Devices that keep their results, or that answer the head with anything else than these."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from cluster import fake_link
from cluster.fake_dispatch import rows
from cluster.remote_bench import bench
from synthetic import case

from pytest_ngraph.cluster.client import dispatch
from pytest_ngraph.cluster.client.link import Answer, Link, NotHandedOver
from pytest_ngraph.cluster.client.remote import TRIES
from pytest_ngraph.cluster.client.sent_groups import SentGroup
from pytest_ngraph.cluster.resources import resource

WHY = "Exception: AssertionError()"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "POLL_S", 0.001)


class Keeping(fake_link.Way):
    """Every group is done at once, and every result is handed over but those of these batch sizes."""

    def __init__(self, *kept: int) -> None:
        super().__init__(is_up=True)
        self._kept = kept
        self._data: dict[str, Any] = {}

    def submit(self, function: Any, data: Sequence[Any], resource: str, *others: Any) -> list[Any]:
        futures = super().submit(function, data, resource, *others)
        for future, each in zip(futures, data, strict=True):
            self._data[future.key] = each
            future.status = "finished"
            future.add_done_callback = lambda call, future=future: call(future)
        return futures

    def fetch(self, futures: Sequence[Any]) -> Answer:
        self.gathered.append([future.key for future in futures])
        asked = [self._data[future.key] for future in futures]
        if any(data["cases"][0]["batch_size"] in self._kept for data in asked):
            return fake_link.answered(NotHandedOver(WHY))
        return fake_link.answered([rows(SentGroup(0, (), data)).answer for data in asked])


def test_a_device_that_keeps_its_results_fails_and_disturbs_no_other() -> None:
    way = Keeping(1)
    kept, honest = case("identity", device="orin"), case("identity", batch_size=2)
    found = {record.case: record for record in bench(fake_link.over(way), [kept], [honest]).run([kept, honest])}
    failure = found[kept].failure
    assert failure is not None
    assert failure.message == f"device orin did not hand over what it measured, {TRIES} times: {WHY}"
    assert found[honest].outcome == "measured"
    assert way.restored == 0, "the connection is fine"
    assert [each[0] for each in way.arrived].count(resource("orin")) == TRIES
    assert [each[0] for each in way.arrived].count(resource("xeon")) == 1


def test_a_machine_of_a_pool_that_keeps_its_results_keeps_those_of_no_other() -> None:
    way = Keeping(1)
    cases = [case("identity", batch_size=size) for size in (1, 2)]
    found = {
        record.case: record.outcome for record in bench(fake_link.over(way), *([each] for each in cases)).run(cases)
    }
    assert found == {cases[0]: "failed", cases[1]: "measured"}
    assert list(map(len, way.gathered[:3])) == [2, 1, 1], "what cannot be had together is fetched alone"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Exception("AssertionError()"), WHY),
        ({"status": "error", "keys": ["one"]}, "gone, or does not hand it over"),
    ],
)
def test_what_the_head_makes_of_such_a_device_is_no_broken_connection(answer: Any, reason: str) -> None:
    async def gather(keys: list[str]) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def fetch() -> list[Any]:
        link = Link.__new__(Link)
        loop = SimpleNamespace(asyncio_loop=asyncio.get_running_loop())
        client: Any = SimpleNamespace(status="running", loop=loop, scheduler=SimpleNamespace(gather=gather))
        link._client = client
        one: Any = SimpleNamespace(key="one")
        return list(await asyncio.wrap_future(link.fetch([one])))

    with pytest.raises(NotHandedOver, match=re.escape(reason)):
        asyncio.run(fetch())


def test_two_records_of_one_case_are_no_answer() -> None:
    class Doubling(Keeping):
        def fetch(self, futures: Sequence[Any]) -> Answer:
            (text,) = super().fetch(futures).result()
            ((place, record),) = json.loads(text)["rows"]
            return fake_link.answered([json.dumps({"rows": [[place, record], [place, record]]})])

    one = case("identity")
    (record,) = bench(fake_link.over(Doubling()), [one]).run([one])
    assert record.failure is not None
    assert record.failure.message.endswith("its records cannot be read: ValueError: it sent two records of one case")
