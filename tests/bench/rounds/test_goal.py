"""Goals, with arms whose rounds are drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.goal import REACHED, SPARSE, UNLIMITED, Knowledge, Limit, Precision, Race, goal_of
from pytest_ngraph.bench.rounds.group import interleave
from pytest_ngraph.case import Case
from pytest_ngraph.metrics.between import IN_GENERAL, Between, Spread
from pytest_ngraph.record import Round
from pytest_ngraph.settings import Settings
from pytest_ngraph.worker.measure import is_settled

CALIBRATED = Between(process=Spread(0.001, 50), session=Spread(0.001, 50), source="calibrated")


@dataclass
class DrawnArm:
    """Its rounds scatter around `seconds`, and around `later_s` from the twelfth on."""

    case: Case
    seconds: float
    spread: float
    later_s: float = 0.0
    fails_in: int = 10**9
    can_run: bool = True
    in_step: bool = True
    target: Target = field(default_factory=Target)
    stopped: str = ""
    rounds: list[Round] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = np.random.default_rng(len(self.case.compiler) + ord(self.case.compiler[0]))

    @property
    def is_done(self) -> bool:
        return is_settled(self.rounds, 0.01, first=12)

    @property
    def has_fewest_rounds(self) -> bool:
        return len(self.rounds) >= 12

    @property
    def measured_s(self) -> float:
        return 0.05 * len(self.rounds)

    def measure_round(self, *, after_others: bool) -> None:
        now = self.later_s if self.later_s and len(self.rounds) >= 12 else self.seconds
        self.rounds.append(Round(1, now * math.exp(self._random.normal(0, self.spread))))
        self.can_run = len(self.rounds) < self.fails_in


def arm(compiler: str, seconds: float, spread: float = 0.002, batch_size: int = 1, **fields: float) -> DrawnArm:
    return DrawnArm(Case(workload="w", compiler=compiler, batch_size=batch_size), seconds, spread, **fields)  # type: ignore[arg-type]  # numbers


def run(goal: str, *arms: DrawnArm, knowledge: Knowledge | None = None, **settings: float) -> list[int]:
    """Run a group to its goal, and return how many rounds each arm had."""
    chosen = replace(Settings(**settings), goal=goal)  # type: ignore[arg-type]  # numbers, and a goal
    interleave(arms, chosen, Silent(), goal=goal_of(chosen, knowledge or Knowledge()))
    return [len(each.rounds) for each in arms]


def test_without_a_goal_every_arm_runs_until_all_are_precise() -> None:
    arms = [arm("a", 1.0), arm("b", 3.0, spread=0.02)]
    one, other = run("precision", *arms)
    assert one == other > 12
    assert all(not each.stopped and each.in_step for each in arms)
    assert isinstance(goal_of(Settings(goal="best", smoke=True)), Precision)


def test_a_clear_order_needs_the_fewest_rounds() -> None:
    for goal in ("best", "rank"):
        arms = [arm("a", 1.0), arm("b", 1.5), arm("c", 2.0)]
        assert run(goal, *arms) == [12, 12, 12]
        assert [each.stopped for each in arms] == [
            REACHED,
            "surely slower than a",
            f"surely slower than {'a' if goal == 'best' else 'b'}",
        ]


def test_who_is_surely_not_the_best_gets_one_cycle_in_some_and_then_none() -> None:
    calibrated = Knowledge(between=CALIBRATED)
    arms = [arm("a", 1.0, 0.03), arm("b", 1.01, 0.03), arm("slow", 2.0, 0.03)]
    one, other, slow = run("best", *arms, knowledge=calibrated)
    assert one == other > 40
    assert 12 < slow <= 12 + math.ceil(5 / SPARSE), "of the five cycles between the first two looks"
    assert not arms[2].in_step
    assert arms[0].in_step
    assert arms[2].stopped == "surely slower than a"


def test_what_a_dropped_arm_leaves_of_the_budget_goes_to_the_contenders() -> None:
    calibrated = Knowledge(between=CALIBRATED)
    arms = [arm("a", 1.0, 0.2), arm("b", 1.001, 0.2), arm("slow", 4.0, 0.2), arm("slower", 5.0, 0.2)]
    found = run("best", *arms, knowledge=calibrated)
    assert sum(found) == pytest.approx(4 * 100, abs=2)
    assert min(found[:2]) > 150


def test_in_a_race_who_is_probably_slower_runs_in_one_cycle_in_some() -> None:
    """Also while it is not surely slower, as other processes may differ by more."""
    race, no_race = (
        run("best", arm("a", 1.0, 0.04), arm("b", 1.001, 0.04), arm("slow", 1.04, 0.01), is_race=is_race, budget_s=4.0)
        for is_race in (True, False)
    )
    assert race[0] == race[1] == 80, "the budget of each"
    assert race[2] < no_race[2]
    assert race[2] < race[0] - 2 * SPARSE


def test_in_a_race_who_is_probably_slower_leaves_no_seconds_to_the_others() -> None:
    calibrated = Knowledge(between=CALIBRATED)
    arms = [arm("a", 1.0, 0.1), arm("b", 1.001, 0.1), arm("slow", 1.5, 0.1), arm("slower", 1.6, 0.1)]
    found = run("best", *arms, knowledge=calibrated, is_race=True, budget_s=2.0)
    assert found[:2] == [40, 40]
    assert max(found[2:]) < 40


def test_an_arm_runs_again_when_the_fastest_has_changed() -> None:
    """The first arm looks best in its first twelve rounds, and is the slowest afterwards."""
    calibrated = Knowledge(between=CALIBRATED)
    arms = [arm("a", 1.0, 0.01, later_s=3.0), arm("b", 1.3, 0.05), arm("c", 1.31, 0.05)]
    race = Race(lambda arms, look: {arms[1].case: "out", arms[2].case: "out"} if look < 3 else {}, 12)
    settings = Settings(goal="best", budget_s=5)
    interleave(arms, settings, Silent(), goal=race)
    assert len(arms[1].rounds) > 50
    assert calibrated.between is CALIBRATED


def test_equals_end_where_other_processes_may_differ_by_more() -> None:
    arms = [arm("a", 1.0), arm("b", 1.0005)]
    assert run("best", *arms) == [12, 12]
    slower = max(arms, key=lambda each: float(np.median([r.elapsed_s for r in each.rounds])))
    assert slower.stopped.startswith("too close to")


def test_with_what_a_calibration_knows_equals_are_settled_within_the_indifference() -> None:
    arms = [arm("a", 1.0, 0.01), arm("b", 1.001, 0.01)]
    found = run("rank", *arms, knowledge=Knowledge(between=CALIBRATED))
    assert max(found) < 100
    assert sorted(each.stopped.partition(" than ")[0] for each in arms) == [REACHED, "surely at most 2 % faster"]


def test_a_rank_goes_on_where_only_neighbours_are_close() -> None:
    """What is far from its neighbours has had enough; the two that are close go on."""
    arms = [arm("a", 1.0, 0.04), arm("b", 1.03, 0.04), arm("far", 3.0, 0.04)]
    one, other, far = run("rank", *arms, knowledge=Knowledge(between=CALIBRATED))
    assert one == other > far


def limited(goal_limits: dict[str, Sequence[Limit]], *arms: DrawnArm, between: Between = CALIBRATED) -> list[int]:
    limits = {each.case: goal_limits[each.case.compiler] for each in arms if each.case.compiler in goal_limits}
    family = sum(map(len, limits.values()))
    return run("threshold", *arms, knowledge=Knowledge(between=between, limits=limits, family=family))


def test_rounds_end_when_every_limit_is_surely_kept_or_breached() -> None:
    kept, breached = arm("a", 1.0, batch_size=4), arm("b", 1.0, batch_size=4)
    free = arm("free", 1.0, 0.5)
    found = limited({"a": [Limit(metric="throughput", bound=3.5)], "b": [Limit(metric="latency_s", bound=0.9)]},
                    kept, breached, free)  # fmt: skip
    assert found == [12, 12, 12]
    assert free.stopped == UNLIMITED


def test_a_close_limit_takes_longer_unless_processes_differ_by_more() -> None:
    limit = [Limit(metric="latency_s", bound=1.01)]
    close, _ = limited({"a": limit}, arm("a", 1.0, 0.02), arm("b", 1.0, 0.02))
    general, _ = limited({"a": limit}, arm("a", 1.0, 0.02), arm("b", 1.0, 0.02), between=IN_GENERAL)
    assert close > general


def test_identity_runs_as_long_as_a_speedup_is_open() -> None:
    arms = [arm("identity", 2.0, 0.03), arm("b", 1.0, 0.03), arm("free", 1.0, 0.03)]
    eager, own, free = limited({"b": [Limit(metric="speedup", bound=1.99)]}, *arms)
    assert eager == own > free


def test_a_limit_on_what_spans_groups_needs_precise_rounds() -> None:
    arms = [arm("a", 1.0, 0.02), arm("b", 1.0, 0.02)]
    own, free = limited({"a": [Limit(metric="rtr", bound=0.5)]}, *arms)
    assert own > free
    assert arms[0].is_done


def test_a_failed_arm_leaves_the_others_to_their_question() -> None:
    arms = [arm("a", 1.0, fails_in=3), arm("b", 1.5), arm("c", 2.0)]
    assert run("best", *arms) == [3, 12, 12]
    assert [each.stopped for each in arms] == ["", REACHED, "surely slower than b"]


def test_one_arm_alone_is_the_best() -> None:
    assert run("best", arm("a", 1.0, 0.3)) == [12]
    assert run("rank", arm("a", 1.0, 0.3)) == [12]
    assert Counter(run("threshold", arm("a", 1.0, 0.3))) == Counter([12])
