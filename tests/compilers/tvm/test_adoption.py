"""A schedule that a search found replaces the rule's only where it beats it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.compilers.tvm import adoption
from pytest_ngraph.compilers.tvm.database import FAILED_S

RULE = "the rule"


class Record:
    """A fake of MetaSchedule's record, with the methods that adoption calls."""

    def __init__(self, trace: str) -> None:
        self.trace = trace

    def as_json(self) -> list[Any]:
        return [self.trace, [1.0]]

    def as_measure_candidate(self) -> Any:
        return SimpleNamespace(sch=SimpleNamespace(mod=self.trace))


class FakeRig:
    """A fake rig with given seconds for each run of a schedule, by trace. Counts the duels."""

    def __init__(self, **seconds: Sequence[float]) -> None:
        self.seconds_of = {name: iter(each) for name, each in seconds.items()}
        self.duels = 0

    def seconds(self, modules: list[str], order: list[int]) -> Iterator[float]:
        self.duels += 1
        return (next(self.seconds_of[modules[number]]) for number in order)


def adopted(folder: Path, rig: FakeRig, *fastest: str) -> list[str]:
    """Return the traces adopted for one kernel with these records, the fastest first."""
    kernel: Any = SimpleNamespace(
        name="conv", hash="1", workload=None, rule_trace=json.dumps(RULE), by_rule=SimpleNamespace(mod="rule")
    )
    records = [Record(trace) for trace in fastest]
    database: Any = SimpleNamespace(folder=folder, fastest=lambda _, count: records[:count])
    return [record.trace for record in adoption.adopt([kernel], database, rig)]  # type: ignore[arg-type]  # a stand-in


def test_a_schedule_that_wins_every_pair_is_adopted(tmp_path: Path) -> None:
    assert adopted(tmp_path, FakeRig(rule=[1.0] * 6, found=[0.9] * 6), "found", RULE) == ["found"]


@pytest.mark.parametrize("lost", range(6))
def test_a_schedule_that_loses_a_pair_is_not_adopted(tmp_path: Path, lost: int) -> None:
    seconds = [0.9] * 6
    seconds[lost] = 1.1
    assert adopted(tmp_path, FakeRig(rule=[1.0] * 6, lucky=seconds), "lucky", RULE) == []


def test_after_a_lost_duel_the_next_schedule_may_try(tmp_path: Path) -> None:
    rig = FakeRig(rule=[1.0] * 12, lucky=[1.2] * 6, good=[0.8] * 6)
    assert adopted(tmp_path, rig, "lucky", "good", RULE) == ["good"]


def test_where_nothing_is_faster_than_the_rule_nothing_is_timed(tmp_path: Path) -> None:
    rig = FakeRig()
    assert adopted(tmp_path, rig, RULE, "slower") == []
    assert adopted(tmp_path, rig) == []
    assert rig.duels == 0


@pytest.mark.parametrize(("found_s", "expected"), [(1.0, ["found"]), (FAILED_S, [])])
def test_against_a_rule_that_cannot_be_timed_it_is_enough_to_run(
    tmp_path: Path, found_s: float, expected: list[str]
) -> None:
    assert adopted(tmp_path, FakeRig(rule=[FAILED_S] * 6, found=[found_s] * 6), "found") == expected


def test_a_duel_is_fought_once(tmp_path: Path) -> None:
    adopted(tmp_path, FakeRig(rule=[1.0] * 6, found=[0.9] * 6), "found", RULE)
    with (tmp_path / adoption.DUELS).open("a") as file:
        file.write('{"key": "half a li')  # what kill -9 leaves
    again = FakeRig()
    assert adopted(tmp_path, again, "found", RULE) == ["found"]
    assert again.duels == 0
