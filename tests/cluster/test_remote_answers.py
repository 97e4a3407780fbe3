"""What the remote bench makes of answers that are no records."""

from __future__ import annotations

import json
from typing import Any

import pytest
from cluster.fake_dispatch import Way, fails
from cluster.remote_bench import Heard, bench
from synthetic import case, measured

from pytest_ngraph.cluster import answers
from pytest_ngraph.cluster.client.dispatch import Arrival
from pytest_ngraph.cluster.client.remote import TRIES
from pytest_ngraph.cluster.plain import NOT_READ

ONE, TWO = case("identity"), case("identity", batch_size=2)
LONG = "a" * 1_000_000


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"\x80\x04.", "its answer cannot be read: it is no text, but bytes"),
        (NOT_READ, "its answer cannot be read: Expecting value"),
        ("[1]", "its answer cannot be read: it is a list, not an object"),
        ('{"rows": 7}', "its records cannot be read"),
        ('{"rows": [' + "{}," * answers.PARTS + "0]}", "its answer cannot be read: it has more than 5,000,000 parts"),
        ('{"rows": [[0, {}]]}', "its records cannot be read"),
        ('{"rows": [[99, {}]]}', "its records cannot be read: IndexError"),
        (json.dumps({"rows": [[0, measured(ONE, 0.1, cpu_percent="x").to_dict()]]}), "it sent no record, or one with"),
        (json.dumps({"rows": [[0, measured(ONE, 0.1).to_dict() | {"rounds": [[1, "x"]]}]]}), "it sent no record, or"),
        (json.dumps({"rows": [[0, measured(TWO, 0.1).to_dict()]]}), f"it sent the record of {TWO.id} for {ONE.id}"),
        ('{"needs": 7, "worker": "tcp://xeon"}', "does not say which projects it lacks"),
        ('{"failed": ["odd"]}', "odd"),
        ('{"reserved": {"by": "anna@head", "left_s": Infinity}}', "it does not say for how long it is reserved"),
    ],
    ids=lambda text: text[:40] if isinstance(text, str) else None,
)
def test_an_answer_that_makes_no_sense_fails_its_cases_and_names_the_device(answer: Any, reason: str) -> None:
    way = Way(lambda group: Arrival(group, answer))
    found = {record.case: record for record in bench(way, [ONE]).run([ONE])}
    failure = found[ONE].failure
    assert failure is not None
    assert failure.message.startswith("device xeon: ")
    assert reason in failure.message


def test_what_a_device_answers_moves_no_cursor() -> None:
    way, notes = Way(lambda group: Arrival(group, json.dumps({"refused": "\x1b[2J", "machine": "xeon-2"}))), list[str]()
    list(bench(way, [ONE], notes=notes).run([ONE]))
    assert notes == [r"xeon-2 refuses to measure (\x1b[2J); the other machines of xeon go on."]
    (record,) = bench(Way(lambda group: Arrival(group, json.dumps({"failed": "a\rb"}))), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message == r"device xeon: a\rb"
    way, heard = Way(), Heard()
    way.messages.append({"waiting": "\x1b[2J", "worker": ("\x07",)})
    list(bench(way, [ONE], heard=heard).run([ONE]))
    assert heard.waits == [r"\x1b[2J (('\\x07',))"]


def test_what_a_device_answers_fills_no_terminal() -> None:
    way, notes = Way(lambda group: Arrival(group, json.dumps({"refused": LONG, "machine": "xeon-2"}))), list[str]()
    list(bench(way, [ONE], notes=notes).run([ONE]))
    assert answers.SHOWN < len(notes[0]) < answers.SHOWN + 100
    (record,) = bench(Way(lambda group: Arrival(group, json.dumps({"failed": LONG}))), [ONE]).run([ONE])
    assert record.failure is not None
    assert record.failure.message == f"device xeon: {LONG[: answers.SHOWN]}..."
    (record,) = bench(Way(*[fails(ValueError(LONG))] * TRIES), [ONE]).run([ONE])
    assert record.failure is not None
    assert len(record.failure.message) < answers.SHOWN + 100


def test_messages_that_make_no_sense_are_left_out() -> None:
    way, heard = Way(), Heard()
    nested: Any = {}
    for _ in range(5000):
        nested = {"waiting": nested, "worker": "xeon"}
    odd: list[Any] = [{}, nested, {"group": 99, "case": 0}, {"group": 0, "case": "x", "phase": "compile"}, {"case": 0}]
    way.messages.extend(odd)
    assert [record.outcome for record in bench(way, [ONE], heard=heard).run([ONE])] == ["measured"]


def test_a_machine_that_refuses_is_named_and_the_others_go_on() -> None:
    way = Way(lambda group: Arrival(group, json.dumps({"refused": "91 °C", "machine": "xeon-2"})))
    notes: list[str] = []
    (record,) = bench(way, [ONE], notes=notes).run([ONE])
    assert record.outcome == "measured"
    assert way.refused == [("xeon-2", "91 °C")]
    assert notes == ["xeon-2 refuses to measure (91 °C); the other machines of xeon go on."]
