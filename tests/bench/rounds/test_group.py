"""Interleaving, with arms that only count."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.group import budget_spent, interleave
from pytest_ngraph.case import Case
from pytest_ngraph.machine import contention, throttling
from pytest_ngraph.record import Round
from pytest_ngraph.settings import Settings


@dataclass
class CountingArm:
    """Satisfied after `enough` rounds of one second; fails in round `fails_in`. Adds itself to `turns` at each turn."""

    case: Case
    enough: int
    turns: list[str]
    fails_in: int = 10**9
    can_run: bool = True
    target: Target = field(default_factory=Target)
    in_step: bool = True
    stopped: str = ""
    rounds: list[Round] = field(default_factory=list)
    after_others: list[bool] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        return len(self.rounds) >= self.enough

    @property
    def has_fewest_rounds(self) -> bool:
        return len(self.rounds) >= Settings().min_rounds

    @property
    def measured_s(self) -> float:
        return float(len(self.rounds))

    def measure_round(self, *, after_others: bool) -> None:
        self.turns.append(self.case.compiler)
        self.after_others.append(after_others)
        self.rounds.append(Round(1, 1.0))
        self.can_run = len(self.rounds) < self.fails_in


def arm(compiler: str, enough: int, turns: list[str], **keywords: Any) -> CountingArm:
    return CountingArm(Case(workload="w", compiler=compiler, batch_size=1), enough, turns, **keywords)


def run(*arms: CountingArm, **settings: Any) -> None:
    interleave(arms, Settings(**settings), Silent())


def test_only_an_arm_that_measures_alone_finds_the_caches_as_it_left_them() -> None:
    alone, one, other = arm("a", 3, []), arm("b", 3, []), arm("c", 3, [], fails_in=2)
    run(alone, budget_s=100)
    run(one, other, budget_s=100)
    assert alone.after_others == [False] * 3
    assert one.after_others == [True, True, False]


def test_arms_take_turns_until_all_are_satisfied() -> None:
    turns: list[str] = []
    run(arm("a", 2, turns), arm("b", 4, turns), budget_s=100)
    assert [sorted(turns[i : i + 2]) for i in range(0, 8, 2)] == [["a", "b"]] * 4
    assert len(turns) == 8


def test_the_order_changes_from_cycle_to_cycle() -> None:
    turns: list[str] = []
    run(arm("a", 20, turns), arm("b", 20, turns), budget_s=100)
    assert len({tuple(turns[i : i + 2]) for i in range(0, 40, 2)}) == 2


def test_the_budget_ends_what_is_never_satisfied() -> None:
    turns: list[str] = []
    run(arm("a", 10**6, turns), budget_s=15)
    assert len(turns) == 15


def test_every_arm_gets_its_fewest_rounds() -> None:
    turns: list[str] = []
    run(arm("a", 10**6, turns), budget_s=0.5)
    assert len(turns) == Settings().min_rounds


def test_a_failed_arm_leaves_the_others_running() -> None:
    turns: list[str] = []
    run(arm("a", 5, turns, fails_in=2), arm("b", 5, turns), budget_s=100)
    assert turns.count("a") == 2
    assert turns.count("b") == 5


def test_no_arms_measure_nothing() -> None:
    turns: list[str] = []
    run()
    assert budget_spent([], Settings()) is False
    assert turns == []


@pytest.mark.parametrize(("what", "before", "after"), [("throttles", 25, 29), ("asleep_s", 3600.5, 3604.5)])
def test_what_slowed_the_machine_down_meanwhile_is_reported(
    monkeypatch: pytest.MonkeyPatch, what: str, before: float, after: float
) -> None:
    counts = iter([before, after])
    monkeypatch.setattr(contention, what, lambda: next(counts))
    found = interleave([arm("a", 2, [])], Settings(), Silent())
    assert getattr(found, what) == 4


@pytest.mark.parametrize("what", ["throttles", "asleep_s"])
def test_what_the_kernel_does_not_report_is_unknown(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    monkeypatch.setattr(contention, what, lambda: None)
    found = interleave([arm("a", 2, [])], Settings(), Silent())
    assert getattr(found, what) is None


def test_rounds_in_which_heat_held_clocks_down_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = iter([("cpufreq-cpu4",), (), ("cpufreq-cpu4", "GPU power brake")])
    watch = SimpleNamespace(now=reasons.__next__, others=lambda own: 2)
    monkeypatch.setattr(throttling, "of", lambda kind, index: watch)
    found = interleave([arm("a", 3, [])], Settings(), Silent())
    assert (found.throttled_rounds, found.throttled_by, found.others_on_gpu) == (2, "cpufreq-cpu4, GPU power brake", 2)
