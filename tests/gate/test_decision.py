from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import PRIORS, Machine, exact, launch, paired_round, scaled, shifted, swapped

from pytest_ngraph.comparison import Comparison, Launch
from pytest_ngraph.errors import UsageError
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.decision import ByRule, Decision, decide, is_enough, weigh
from pytest_ngraph.gate.rule import is_spent

RULE = Rule()
TEN = Rule(cells=10)


def launches(*ratios: float, screen: float | None = None) -> list[Launch]:
    screened = [] if screen is None else [exact(screen, fresh=False)]
    return [*screened, *map(exact, ratios)]


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (launches(screen=0.0), "unchanged"),
        (launches(screen=0.005), "undecided"),
        (launches(screen=0.2), "undecided"),
        (launches(0.2, 0.2, screen=0.2), "undecided"),
        (launches(0.2, 0.2, 0.2, screen=0.2), "regressed"),
        (launches(0.2, 0.2, 0.2, screen=-0.2), "regressed"),
        (launches(-0.2, -0.2, -0.2, screen=-0.2), "improved"),
        (launches(screen=-0.02), "undecided"),
        (launches(*[-0.011] * 7, screen=-0.011), "undecided"),
        (launches(*[-0.011] * 8, screen=-0.011), "unchanged"),
        (launches(*[0.01] * 8, screen=0.01), "undecided"),
        ([], "undecided"),
        ([launch(paired_round(0.0))], "undecided"),
    ],
)
def test_decisions(taken: list[Launch], expected: Decision) -> None:
    assert decide(taken, RULE) == expected


def test_a_screen_never_makes_a_regression() -> None:
    assert decide([exact(0.2, fresh=False)] * 20, RULE) == "undecided"


@pytest.mark.parametrize(("taken", "enough"), [(1, False), (3, False), (4, True)])
def test_one_draw_of_a_search_decides_nothing(taken: int, enough: bool) -> None:
    found = launches(0.0, 0.0, 0.0, screen=0.0)[:taken]
    assert is_enough(Comparison(launches=tuple(found)), RULE)
    assert is_enough(Comparison(launches=tuple(found), searched=True), RULE) is enough


@pytest.mark.parametrize(
    ("taken", "decided", "regressed"),
    [
        (launches(screen=0.2), False, False),
        (launches(0.2, 0.2, 0.2, screen=0.2), True, True),
        (launches(screen=0.0), True, False),
    ],
)
def test_a_rule_decides_and_shows_regressions(taken: list[Launch], *, decided: bool, regressed: bool) -> None:
    by, found = ByRule(RULE), Comparison(launches=tuple(taken))
    assert (by.is_decided(found), by.is_regressed(found)) == (decided, regressed)


def test_two_processes_need_to_differ_more() -> None:
    taken = launches(0.022, 0.025, 0.019, 0.023, 0.021)
    assert decide(taken, RULE, "together") == "regressed"
    assert decide(taken, RULE, "apart") == "undecided"


def test_the_level_is_shared_by_the_cells_and_looks() -> None:
    assert sum(look.share for look in RULE.looks) == pytest.approx(1)
    assert [look.launches for look in RULE.looks] == [3, 5, 8]
    assert [look.launches for look in Rule(most_launches=10).looks] == [3, 5, 8, 10]
    assert [look.launches for look in Rule(most_launches=3).looks] == [3]
    assert Rule(level=0.02, cells=10, rejected=2).corrected_level == pytest.approx(0.0025)
    assert Rule(level=0.02, cells=2, rejected=2).corrected_level == 0.02


def test_more_cells_need_more_evidence_and_regressions_found_need_less() -> None:
    taken = launches(0.024, 0.026, 0.025)
    assert decide(taken, RULE) == "regressed"
    assert decide(taken, Rule(cells=100, priors=PRIORS)) == "undecided"
    assert decide(taken, Rule(cells=100, rejected=99, priors=PRIORS)) == "regressed"


def test_two_sided_what_may_be_faster_is_not_unchanged() -> None:
    taken = launches(-0.008, -0.009, -0.007)
    assert decide(taken, RULE) == "unchanged"
    assert decide(taken, replace(RULE, two_sided=True)) == "undecided"
    assert decide(launches(0.0, 0.001, -0.001), replace(RULE, two_sided=True)) == "unchanged"


def test_more_launches_may_take_more_seconds() -> None:
    screen, *short = launches(*[0.01] * 8, screen=0.01)
    long = [screen, *(replace(one, builds=one.builds * 4) for one in short)]
    assert is_spent(long, RULE)
    assert not is_spent(long, replace(RULE, most_launches=16))


def test_too_few_launches_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 3"):
        Rule(most_launches=2)


def test_looks_take_the_launches_that_were_there() -> None:
    evidence = weigh(launches(0.1, 0.1, 0.1, 0.0, 0.0, screen=0.5), RULE, "together")
    assert evidence
    assert [pooled.mean for _, pooled in evidence.seen] == [pytest.approx(0.1), pytest.approx(0.06)]


def test_the_last_look_is_at_all_launches_whatever_ended_them() -> None:
    """The screen takes half a second and each launch after it two: there is room for four."""
    screen, *short = launches(0.03, 0.03, 0.03, 0.03, screen=0.03)
    long = [screen, *(replace(one, builds=one.builds * 4) for one in short)]
    assert [each.elapsed_s for each in long] == [pytest.approx(0.5), *[pytest.approx(2)] * 4]
    assert not is_spent(long[:-1], RULE)
    evidence = weigh(long, RULE, "together")
    assert evidence
    assert evidence.complete
    assert [look.launches for look, _ in evidence.seen] == [3, 4]
    assert sum(look.share for look, _ in evidence.seen) == pytest.approx(1)


def test_a_case_has_as_many_looks_as_it_has_launches_for() -> None:
    assert RULE.looks_due(2, last=True) == ()
    assert RULE.looks_due(5, last=False) == RULE.looks[:2]
    assert RULE.looks_due(8, last=True) == RULE.looks
    first, last = RULE.looks_due(5, last=True)
    assert first == RULE.looks[0]
    assert last == (5, 1 - first.share)


def decisions(machine: Machine, slowdown: float, rule: Rule, cells: int) -> tuple[Counter[Decision], float]:
    """Return how often each decision was made, and the mean number of launches taken."""
    found = [machine.gated(slowdown, rule) for _ in range(cells)]
    return Counter(decision for decision, _ in found), sum(len(taken) for _, taken in found) / cells


@pytest.mark.parametrize("spread", [0.002, 0.005])
def test_unchanged_code_is_never_called_regressed(spread: float) -> None:
    machine = Machine(random=np.random.default_rng(1), spread=spread)
    called, taken = decisions(machine, 0.0, RULE, 1000)
    assert called["regressed"] == called["improved"] == 0
    assert called["unchanged"] >= 990
    assert taken < 2


def test_a_slowdown_of_just_the_margin_is_called_at_most_at_the_level() -> None:
    machine = Machine(random=np.random.default_rng(2), spread=0.004)
    called, _ = decisions(machine, RULE.margin, Rule(level=0.05, miss=1e-6, most_launches=5), 300)
    # The level plus 2.5 standard errors of the simulation.
    assert called["regressed"] <= (0.05 + 2.5 * math.sqrt(0.05 * 0.95 / 300)) * 300


@pytest.mark.parametrize(("slowdown", "least"), [(0.02, 0.95), (0.03, 0.99)])
def test_a_slowdown_is_found_among_ten_cells(slowdown: float, least: float) -> None:
    called, _ = decisions(Machine(random=np.random.default_rng(3), spread=0.002), slowdown, TEN, 200)
    assert called["regressed"] >= least * 200
    assert called["unchanged"] == 0


def test_a_speedup_is_found_as_well() -> None:
    called, _ = decisions(Machine(random=np.random.default_rng(4), spread=0.002), -0.03, TEN, 100)
    assert called["improved"] >= 99


@pytest.mark.parametrize("slowdown", [0.0, 0.01])
def test_a_machine_whose_launches_have_two_modes_raises_no_alarm(slowdown: float) -> None:
    """A tenth of the launches is 3 % off, as placement in memory can cause."""
    random = np.random.default_rng(5)

    def one() -> Decision:
        taken: list[Launch] = []
        while decide(taken, RULE) == "undecided" and len(taken) <= RULE.most_launches:
            mode = 0.03 if random.random() < 0.1 else 0.0
            taken.append(exact(math.log1p(slowdown) + mode + random.normal(0, 0.002), fresh=bool(taken)))
        return decide(taken, RULE)

    assert Counter(one() for _ in range(100))["regressed"] <= 1


def some_launches(seed: int, slowdown: float, count: int) -> list[Launch]:
    source = Machine(random=np.random.default_rng(seed), spread=0.004).launches(slowdown)
    return [next(source) for _ in range(count)]


cells = st.builds(some_launches, st.integers(0, 10_000), st.floats(-0.05, 0.05), st.integers(1, 9))
MIRROR: dict[Decision, Decision] = {"regressed": "improved", "improved": "regressed"}
ORDER: dict[Decision, int] = {"improved": 0, "unchanged": 1, "undecided": 2, "regressed": 3}


@given(cells, st.sampled_from([1e-9, 1e-3, 2.0, 3600.0]))
def test_the_unit_of_time_does_not_matter(taken: list[Launch], unit: float) -> None:
    assert decide([scaled(one, unit) for one in taken], TEN) == decide(taken, TEN)


@given(cells)
def test_base_for_head_mirrors(taken: list[Launch]) -> None:
    found, mirrored = decide(taken, TEN), decide([swapped(one) for one in taken], TEN)
    assert MIRROR.get(found, "neither") == (mirrored if mirrored in MIRROR else "neither")


@given(cells, st.floats(0, 0.05))
def test_a_slower_head_is_never_judged_better(taken: list[Launch], by: float) -> None:
    before, after = (weigh(each, TEN, "together") for each in (taken, [shifted(one, by) for one in taken]))
    assert before
    assert after
    assert ORDER[before.decision] <= ORDER[after.decision]


@given(cells, st.floats(-0.1, 0.1))
def test_a_constant_moves_the_mean_and_nothing_else(taken: list[Launch], by: float) -> None:
    before, after = (weigh(each, TEN, "together") for each in (taken, [shifted(one, by) for one in taken]))
    assert before
    assert after
    assert after.everything.mean == pytest.approx(before.everything.mean + by, abs=1e-9)
    assert after.everything.standard_error == pytest.approx(before.everything.standard_error, rel=1e-6)


def test_a_screen_that_asked_for_more_counts_no_more() -> None:
    evidence = weigh(launches(0.0, 0.001, screen=0.02), RULE, "together")
    assert evidence is not None
    assert not evidence.seen, "no look was due yet"
    assert evidence.confirmed.mean == pytest.approx(0.0005)
