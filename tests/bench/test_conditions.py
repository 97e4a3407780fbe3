"""Under which conditions a case is measured, and what a record would follow from under them."""

from __future__ import annotations

import dataclasses

import pytest
from synthetic import case, failed, measured

from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.bench.conditions import Conditions
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings

CASE = dataclasses.replace(case("openvino", 8), device="cpu")
STREAMS = dataclasses.replace(CASE, objective="throughput")
CONDITIONS = Conditions(common=Settings(tails_s=2.5), profiles=BUILT_IN, machine=this_machine())


@pytest.mark.parametrize(
    ("record", "asked", "seconds"),
    [
        (measured(CASE, 0.1), Asked(calls={CASE}), 2.5),
        (measured(CASE, 0.1), NOTHING, None),
        (measured(STREAMS, 0.1), Asked(calls={STREAMS}), None),
        (failed(CASE), Asked(calls={CASE}), None),
    ],
    ids=["asked for", "not asked for", "side by side", "failed"],
)
def test_the_seconds_of_single_calls_count_where_there_can_be_some(
    record: Record, asked: Asked, seconds: float | None
) -> None:
    record = dataclasses.replace(record, follows_from={"graph": "g", "files": {}})
    found = CONDITIONS.would_follow_from(record, asked, "main")
    assert found.get("tails_s") == seconds
    assert (found["graph"], found["against"]) == ("g", "main")
