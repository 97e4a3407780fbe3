"""Single calls: how many are timed, in which order, and what they show of a head and its base."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from synthetic import case, failed
from two_trees import Compare, comparison_of

from pytest_ngraph.bench.rounds.tails import Block, Budget, launch_calls, rounded, time_calls
from pytest_ngraph.case import Case
from pytest_ngraph.comparison import CallLaunch
from pytest_ngraph.gate.tails import percentile_of_launches
from pytest_ngraph.metrics import compute
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.store import conforms


@dataclass(eq=False)
class CountingArm:
    """Each call takes `seconds_per_call`. Fails in block `fails_in`. Adds itself to `turns` at each block."""

    case: Case
    seconds_per_call: float
    turns: list[str]
    fails_in: int = 10**9
    has_single_calls: bool = True
    can_run: bool = True
    calls: list[float] = field(default_factory=list)

    def time_calls(self, block: Block) -> list[float]:
        self.turns.append(self.case.compiler)
        self.can_run = self.turns.count(self.case.compiler) < self.fails_in
        return [self.seconds_per_call] * block.calls if self.can_run else []


def timed(*arms: CountingArm, **settings: Any) -> list[int]:
    time_calls(arms, {arm.case for arm in arms}, Settings(**settings))
    return [len(arm.calls) for arm in arms]


def test_calls_fill_the_budget_and_are_no_more_than_are_needed() -> None:
    arms = [CountingArm(case("a"), 0.0001, []), CountingArm(case("b"), 0.005, []), CountingArm(case("c"), 3.0, [])]
    assert timed(*arms) == [1000, 200, 1]
    again = [CountingArm(arm.case, arm.seconds_per_call, []) for arm in arms]
    assert timed(*again, tails_s=10) == [10_000, 2000, 3]


def test_arms_take_turns_in_changing_order() -> None:
    turns: list[str] = []
    timed(CountingArm(case("a"), 0.002, turns), CountingArm(case("b"), 0.002, turns))
    pairs = [tuple(turns[place : place + 2]) for place in range(0, len(turns), 2)]
    assert len(pairs) == 20, "blocks are as long as rounds"
    assert set(pairs) == {("a", "b"), ("b", "a")}


def test_one_that_fails_leaves_the_others_running() -> None:
    turns: list[str] = []
    assert timed(CountingArm(case("a"), 0.002, turns, fails_in=3), CountingArm(case("b"), 0.002, turns)) == [50, 500]


def test_only_those_are_timed_that_are_asked_for_and_run_one_call_at_a_time() -> None:
    asked, streams, other = (CountingArm(case(name), 0.002, []) for name in ("a", "b", "c"))
    streams.has_single_calls = False
    time_calls([asked, streams, other], {asked.case, streams.case}, Settings())
    assert [len(arm.calls) for arm in (asked, streams, other)] == [500, 0, 0]


def test_a_slow_model_has_long_blocks() -> None:
    assert Budget(Settings(), 0.02).next_block([]) == Block(calls=10, every=1)
    assert Budget(Settings(), 0.02, share=0.5).next_block([0.02] * 20) == Block(calls=5, every=1)


def test_of_a_fast_model_every_nth_call_is_timed() -> None:
    """So that they are spread over the whole second, and see what happens in it as often as it does."""
    budget = Budget(Settings(), 0.00004)
    assert budget.next_block([]) == Block(calls=50, every=25)
    assert budget.next_block([0.00004] * 1000) is None
    assert budget.next_block([0.001] * 30) == Block(calls=50, every=25)
    assert budget.next_block([0.001] * 40) is None, "the seconds are spent"


def test_calls_are_stored_with_four_digits() -> None:
    assert rounded([0.00123456, 12.34567]) == [0.001235, 12.35]


def test_launches_end_with_the_first_that_fails() -> None:
    found: Iterator[CallLaunch | Record] = iter([CallLaunch(base=(1.0,), head=(2.0,)), failed(case("a"), "no memory")])
    launches, problem = launch_calls(lambda: next(found))
    assert (len(launches), problem) == (1, "launching both to time single calls failed: no memory")


def test_what_a_slow_minority_does_shows_beside_the_base(crowd: Compare, tmp_path: Path) -> None:
    """Every 50th call of the head takes ten times as long; none of the base's does."""
    for folder, factor in (("head", 10), ("base", 1)):
        (tmp_path / folder / "numbers.txt").write_text(f"{factor} 2 3")
    (record,) = crowd("stuttering:Stutters", tails=True)
    own = compute([record])[record.case]
    assert own["p50_s"].estimate
    assert own["p50_s"].estimate.value == pytest.approx(0.001)
    assert own["p99_s"].estimate
    assert own["p99_s"].estimate.value == pytest.approx(0.01)
    comparison = comparison_of([record])
    assert comparison.calls_problem == ""
    assert [len(each.base) == len(each.head) >= 368 for each in comparison.calls] == [True] * 3
    p50, p99 = (percentile_of_launches(record, name).change for name in ("p50_s", "p99_s"))
    assert p50.mean == 0
    assert p99.mean == pytest.approx(math.log(10))
    assert p99.p_above(math.log(1.1)) < 0.001
    again = Record.from_dict(record.to_dict())
    assert again == record
    assert conforms(again, Record)


def test_a_base_that_fails_in_a_later_launch_is_a_reason(crowd: Compare) -> None:
    comparison = comparison_of(crowd("beside:AbortsElsewhere", head="faulty:Exact", tails=True))
    assert comparison.calls == ()
    assert comparison.calls_problem == (
        "launching both to time single calls failed: the base does not run: crashed in compile: crashed with SIGABRT"
    )
