from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import case, measured

from pytest_ngraph.gate import Rule, Verdict, compare
from pytest_ngraph.gate.pooling import Pooled
from pytest_ngraph.gate.stored.baseline import assess_runs
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS
from pytest_ngraph.gate.stored.stored_runs import StoredRuns
from pytest_ngraph.record import Contention, Record

CASE = case("openvino", 8)
IDENTITY = CASE.group
V1 = "baseline v1"
BUSY = Contention(pressure_percent=40.0)


def against(head: Record, *runs: Record, rule: Rule | None = None) -> Verdict:
    """Return the verdict on a record, compared with one of each run."""
    stored = StoredRuns([{run.case: run} for run in runs])
    return compare(head.case, {head.case: head}, stored, rule or Rule(), V1)


def judged(seconds: float, *runs: float, rule: Rule | None = None) -> Verdict:
    """Return the verdict on a run of this time, compared with runs of those times."""
    return against(measured(CASE, seconds), *(measured(CASE, run) for run in runs), rule=rule)


def test_regressed() -> None:
    found = judged(1.5, 1.0)
    assert found.name == "regressed"
    assert found.ratio
    assert found.ratio.value == pytest.approx(1.5)
    assert found.ratio.low > 1.01
    assert found.text == (
        "regressed: 50.0 % slower than baseline v1 in time, without identity beside it (98 % interval 23.7 to 81.9 %), "
        "1 run, margin 1.0 %"
    )


def test_improved() -> None:
    found = judged(0.6, 1.0)
    assert found.name == "improved"
    assert found.ratio
    assert found.ratio.high < 1 / 1.01


@pytest.mark.parametrize("seconds", [0.97, 1.0, 1.03])
def test_unchanged_lies_within_the_margin_on_both_sides(seconds: float) -> None:
    found = judged(seconds, 1.0)
    assert found.name == "unchanged"
    assert found.ratio
    assert found.margin
    assert 1 / (1 + found.margin) < found.ratio.low < found.ratio.high < 1 + found.margin
    assert found.text.endswith(f"1 run, margin ±{100 * found.margin:.1f} %")


@pytest.mark.parametrize("seconds", [1.157, 1.09, 1 / 1.09, 1 / 1.157])
def test_two_runs_of_the_same_code_are_not_unchanged_when_they_differ_by_much(seconds: float) -> None:
    """`unchanged +15.7 % [-0.8, +34.8]` was seen."""
    assert judged(seconds, 1.0).name == "inconclusive"


def test_between_unchanged_and_regressed_is_inconclusive() -> None:
    found = judged(1.18, 1.0)
    assert found.name == "inconclusive"
    assert found.reason == "the interval lies neither within the margin nor beyond the tolerated slowdown"
    assert found.ratio
    assert found.margin
    assert 0.01 < found.p < 0.05
    assert 1.01 < found.ratio.low < 1 + found.margin < found.ratio.high


def test_many_cells_do_not_make_unchanged_what_is_probably_slower() -> None:
    found = judged(1.3, 1.0, rule=Rule(cells=100))
    assert found.name == "inconclusive"
    assert found.ratio
    assert found.ratio.low > 1.01


def test_runs_that_agree_see_more_and_runs_that_differ_less() -> None:
    margins = [
        judged(1.0, *runs).margin or 0.0
        for runs in ([1.0, 1.001, 0.999, 1.0, 1.001, 0.999], [1.0], [0.8, 1.0, 1.25, 0.7, 1.4, 1.0])
    ]
    assert margins == sorted(margins)
    assert margins[0] < 0.1
    assert margins[2] > 0.5


def test_more_cells_leave_less_level_to_each() -> None:
    one, many = (judged(1.0, 1.0, rule=Rule(cells=cells)) for cells in (1, 50))
    assert (one.detectable or 0) < (many.detectable or 0)
    assert one.margin == many.margin


@given(
    st.builds(Pooled, st.floats(-0.5, 0.5), st.floats(1e-4, 0.3), st.floats(1, 80), st.integers(1, 20)),
    st.integers(1, 200),
)
def test_the_interval_and_the_margin_show_why(distance: Pooled, cells: int) -> None:
    found = assess_runs(distance, Rule(cells=cells))
    low, high = distance.low(found.tail), distance.high(found.tail)
    shows = {
        "regressed": low >= found.margin,
        "improved": high <= -found.margin,
        "unchanged": -found.margin < low and high < found.margin,
    }
    assert shows.get(found.name, not any(shows.values()) or low > Rule().limit or high < -Rule().limit)


@given(st.floats(-0.5, 0.5), st.floats(1e-4, 0.3), st.floats(1, 80))
def test_faster_is_judged_like_slower(mean: float, error: float, dof: float) -> None:
    mirrored = {"regressed": "improved", "improved": "regressed"}
    one, other = (assess_runs(Pooled(sign * mean, error, dof, 1), Rule(cells=20)).name for sign in (1, -1))
    assert mirrored.get(one, one) == other


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_level_holds_where_runs_differ_as_they_did(count: int) -> None:
    random = np.random.default_rng(count)
    trials = np.exp(random.normal(0, BETWEEN_RUNS.spread, (2000, count + 1)))
    rule = Rule(margin=1e-9, level=0.05)
    alarms = sum(judged(head, *runs, rule=rule).name == "regressed" for head, *runs in trials.tolist())
    assert alarms / len(trials) < 0.06


def test_runs_that_differ_wildly_overflow_nothing() -> None:
    found = judged(1.0, 1e-9, 1e9, rule=Rule(cells=10_000))
    assert found.name == "inconclusive"
    assert found.detectable
    assert np.isfinite(found.detectable)


def test_new() -> None:
    assert judged(1.0).text == "new: baseline v1 does not have it"


def test_one_round_is_too_little() -> None:
    short = measured(CASE, 1.0, rounds=1)
    found = against(short, measured(CASE, 1.0))
    assert found.text == "inconclusive: too few rounds to estimate their error (at least 2 are needed)"
    assert against(measured(CASE, 1.0), short).reason == found.reason


def beside_work(seconds: float, head: Contention, base: Contention) -> Verdict:
    """Return the verdict on a run of this time against one of a second, with other work beside one or both."""
    return against(measured(CASE, seconds, contention=head), measured(CASE, 1.0, contention=base))


@pytest.mark.parametrize(
    ("seconds", "quiet", "busy_now", "busy_before", "both"),
    [
        (12.0, "regressed", "regressed", "regressed", "regressed"),
        (3.0, "regressed", "inconclusive", "regressed", "inconclusive"),
        (1.0, "unchanged", "inconclusive", "inconclusive", "inconclusive"),
        (0.33, "improved", "improved", "inconclusive", "inconclusive"),
        (0.08, "improved", "improved", "improved", "improved"),
    ],
)
def test_a_busy_machine_may_be_to_blame_for_what_it_can_have_slowed(
    seconds: float, quiet: str, busy_now: str, busy_before: str, both: str
) -> None:
    """Nine times as slow as a baseline was once inconclusive, because the baseline's runs were the disturbed ones."""
    assert beside_work(seconds, Contention(), Contention()).name == quiet
    assert beside_work(seconds, BUSY, Contention()).name == busy_now
    assert beside_work(seconds, Contention(), BUSY).name == busy_before
    assert beside_work(seconds, BUSY, BUSY).name == both


def test_an_inconclusive_verdict_says_which_runs_were_disturbed() -> None:
    this = "the machine was busy during this run"
    assert beside_work(3.0, BUSY, Contention()).reason == beside_work(3.0, BUSY, BUSY).reason == this
    assert beside_work(0.33, Contention(), BUSY).reason == "the machine was busy during the baseline's runs"


def test_what_a_hypervisor_took_may_explain_anything() -> None:
    assert beside_work(12.0, Contention(steal_percent=5.0), Contention()).name == "inconclusive"


def test_busy_runs_are_left_out_where_there_are_others() -> None:
    found = against(measured(CASE, 1.5), measured(CASE, 3.0, contention=BUSY), measured(CASE, 1.0))
    assert (found.name, found.runs) == ("regressed", 1)


def on_cores(count: int, seconds: float) -> Record:
    return measured(CASE, seconds, follows_from={"target": {"cores": list(range(count))}})


def test_on_another_number_of_cores_the_code_cannot_be_judged() -> None:
    found = against(on_cores(1, 2.0), on_cores(2, 1.0))
    assert found.name == "inconclusive"
    assert found.reason == "measured on 1 core, and on 2 in the baseline's runs"


def test_a_baselines_runs_on_as_many_cores_count() -> None:
    found = against(on_cores(1, 2.0), on_cores(2, 1.0), on_cores(1, 2.0))
    assert (found.name, found.runs) == ("unchanged", 1)
