from __future__ import annotations

import numpy as np
import pytest
from synthetic import case, measured, noisy

from pytest_ngraph.gate import Rule, Verdict, compare
from pytest_ngraph.gate.baseline import BETWEEN_RUNS, log_seconds
from pytest_ngraph.record import Contention, Record

CASE = case("openvino", 8)
V1 = "baseline v1"
BUSY = Contention(pressure_percent=40.0)


def judged(seconds: float, *runs: float, rule: Rule | None = None) -> Verdict:
    """Return the verdict on a run of this time, compared with runs of those times."""
    return compare(CASE, measured(CASE, seconds), [measured(CASE, run) for run in runs], rule or Rule(), V1)


def test_regressed() -> None:
    found = judged(1.5, 1.0)
    assert found.name == "regressed"
    assert found.ratio
    assert found.ratio.value == pytest.approx(1.5)
    assert found.ratio.low > 1.01
    assert found.text == (
        "regressed: 50.0 % slower than baseline v1 (98 % interval 23.7 to 81.9 %), 1 run, margin widened to 22.5 %"
    )


def test_improved() -> None:
    found = judged(0.6, 1.0)
    assert found.name == "improved"
    assert found.ratio
    assert found.ratio.high < 1 / 1.01


@pytest.mark.parametrize("seconds", [0.9, 1.0, 1.05])
def test_unchanged_is_surely_within_the_widened_margin(seconds: float) -> None:
    found = judged(seconds, 1.0)
    assert found.name == "unchanged"
    assert found.ratio
    assert found.margin
    assert found.ratio.high < 1 + found.margin


def test_between_unchanged_and_regressed_is_inconclusive() -> None:
    found = judged(1.18, 1.0)
    assert found.name == "inconclusive"
    assert found.reason == "slower by more than runs usually differ, but too little to be sure"
    assert found.ratio
    assert found.margin
    assert 0.01 < found.p < 0.05
    assert 1.01 < found.ratio.value < 1 + found.margin < found.ratio.high


def test_a_margin_that_many_cells_have_widened_does_not_make_unchanged_what_is_probably_slower() -> None:
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
    assert (one.margin or 0) < (many.margin or 0)
    assert (one.detectable or 0) < (many.detectable or 0)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_the_level_holds_where_runs_differ_as_they_did(count: int) -> None:
    random = np.random.default_rng(count)
    trials = np.exp(random.normal(0, BETWEEN_RUNS.spread, (2000, count + 1)))
    rule = Rule(margin=1e-9, level=0.05)
    alarms = sum(judged(head, *runs, rule=rule).name == "regressed" for head, *runs in trials.tolist())
    assert alarms / len(trials) < 0.06


def test_new() -> None:
    assert judged(1.0).text == "new: baseline v1 does not have it"


def test_one_round_is_too_little() -> None:
    short = measured(CASE, 1.0, rounds=1)
    found = compare(CASE, short, [measured(CASE, 1.0)], Rule(), V1)
    assert found.text == "inconclusive: too few rounds to estimate their error (at least 2 are needed)"
    assert compare(CASE, measured(CASE, 1.0), [short], Rule(), V1).reason == found.reason


@pytest.mark.parametrize("seconds", [3.0, 1.0, 0.3])
def test_a_busy_machine_may_be_to_blame(seconds: float) -> None:
    def of(head: Contention, base: Contention) -> Verdict:
        runs = [measured(CASE, 1.0, contention=base)]
        return compare(CASE, measured(CASE, seconds, contention=head), runs, Rule(), V1)

    assert of(Contention(), Contention()).name in ("regressed", "improved", "unchanged")
    found = of(BUSY, Contention())
    assert (found.name, found.reason) == ("inconclusive", "the machine was busy during this run")
    assert of(Contention(steal_percent=5.0), Contention()).reason == found.reason
    assert of(Contention(), BUSY).reason == "the machine was busy during the baseline's runs"


def test_busy_runs_are_left_out_where_there_are_others() -> None:
    runs = [measured(CASE, 3.0, contention=BUSY), measured(CASE, 1.0)]
    found = compare(CASE, measured(CASE, 1.5), runs, Rule(), V1)
    assert (found.name, found.runs) == ("regressed", 1)


def test_the_error_within_a_run_is_that_of_its_median() -> None:
    def record(seed: int) -> Record:
        return noisy(CASE, 1.0, spread=0.1, rounds=25, seed=seed)

    effects = [log_seconds(record(seed)) for seed in range(200)]
    scatter = np.std([effect.log_ratio for effect in effects])
    assert np.mean([effect.standard_error for effect in effects]) == pytest.approx(scatter, rel=0.2)


def on_cores(count: int, seconds: float) -> Record:
    return measured(CASE, seconds, follows_from={"target": {"cores": list(range(count))}})


def test_on_another_number_of_cores_the_code_cannot_be_judged() -> None:
    found = compare(CASE, on_cores(1, 2.0), [on_cores(2, 1.0)], Rule(), V1)
    assert found.name == "inconclusive"
    assert found.reason == "measured on 1 core, and on 2 in the baseline's runs"


def test_a_baselines_runs_on_as_many_cores_count() -> None:
    found = compare(CASE, on_cores(1, 2.0), [on_cores(2, 1.0), on_cores(1, 2.0)], Rule(), V1)
    assert (found.name, found.runs) == ("unchanged", 1)
