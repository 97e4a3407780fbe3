from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from synthetic import case, measured

from pytest_ngraph.case import Case
from pytest_ngraph.gate import Rule, Verdict, compare
from pytest_ngraph.gate.stored.stored_runs import StoredRuns
from pytest_ngraph.record import Contention, Record

CASE = case("openvino", 8)
IDENTITY = CASE.group
V1 = "baseline v1"


def run_of(seconds: float, identity: float, **code: Any) -> dict[Case, Record]:
    """Return a run of the case and its group's identity. By default, identity runs the same code in each run."""
    given = {"graph": "1a2b", "libraries": {"torch": "2.15.0"}, "files": {"/p/nets.py": "3c4d"}} | code
    return {each: measured(each, s, follows_from=given) for each, s in ((CASE, seconds), (IDENTITY, identity))}


def beside_identity(head: dict[Case, Record], **code: Any) -> Verdict:
    """Return the verdict on the case, against runs whose times all differ by the machine's speed, and little else."""
    runs = 12
    random = np.random.default_rng(runs)
    speeds, noise = np.exp(random.normal(0, 0.04, runs)), np.exp(random.normal(0, 0.004, runs))
    stored = [run_of(0.5 * speed * own, 1.0 * speed, **code) for speed, own in zip(speeds, noise, strict=True)]
    return compare(CASE, head, StoredRuns(stored), Rule(), V1)


def test_a_slower_machine_is_no_regression() -> None:
    found = beside_identity(run_of(0.65, 1.3))
    assert found.name == "unchanged"
    assert found.relative_to == "identity"
    assert found.reason == "the machine is slower: identity, the same code, took longer as well"
    assert found.ratio
    assert found.time
    assert found.ratio.value == pytest.approx(1.0, abs=0.01)
    assert found.time.value == pytest.approx(1.3, abs=0.05)
    assert found.text.startswith(
        "unchanged: the machine is slower: identity, the same code, took longer as well; 0."
    ), found.text
    assert "than baseline v1 relative to identity, which ran the same code (90 % interval" in found.text
    assert f"), in time {100 * (found.time.value - 1):.1f} % slower, 12 runs, margin ±" in found.text


def test_a_regression_that_drift_would_hide_is_found_relative_to_identity() -> None:
    found = beside_identity(run_of(0.54, 1.0))
    assert (found.name, found.relative_to) == ("regressed", "identity")
    assert found.ratio
    assert found.time
    assert found.ratio.value == pytest.approx(1.08, abs=0.005)
    assert found.time.low < 1.01


def test_an_identity_that_changed_is_no_measure_of_the_machine() -> None:
    """A heavier model is as much slower under identity: the ratio says nothing."""
    heavier = run_of(0.65, 1.3, graph="5e6f")
    found = beside_identity(heavier)
    assert (found.name, found.relative_to) == ("regressed", "")
    assert found.basis == "in time, because identity may have changed"


def test_identity_that_alone_became_slower_improves_nothing() -> None:
    lighter = run_of(0.5, 1.3)
    found = beside_identity(lighter)
    assert found.name == "inconclusive"
    assert found.reason == (
        "faster relative to identity only because identity, the same code, ran slower than runs usually differ"
    )
    assert found.p == 1


def test_identity_that_alone_became_faster_is_no_regression() -> None:
    found = beside_identity(run_of(0.5, 0.6))
    assert found.name == "inconclusive"
    assert found.reason == (
        "slower relative to identity only because identity, the same code, ran faster than runs usually differ"
    )


@pytest.mark.parametrize(
    ("head", "relative"),
    [
        ({}, True),
        ({"files": {"/other/nets.py": "3c4d"}}, True),  # the same file in another checkout
        ({"files": {"/p/nets.py": "3c4d", "/p/more.py": "7a8b"}}, True),  # imported for another case
        ({"files": {"/p/nets.py": "9c0d"}}, False),
        ({"libraries": {"torch": "2.15.0", "openvino": "2027.1"}}, True),
        ({"libraries": {"torch": "2.16.0"}}, False),
        ({"graph": "5e6f"}, False),
        ({"variables": {"MKL_X": "1"}}, False),
        ({"graph": ""}, False),
    ],
)
def test_the_ratio_decides_where_identity_ran_the_same_code(head: dict[str, Any], relative: bool) -> None:
    assert bool(beside_identity(run_of(0.5, 1.0, **head)).relative_to) == relative


def test_a_record_of_which_nothing_is_known_is_judged_in_time() -> None:
    head = {each: measured(each, 1.0) for each in (CASE, IDENTITY)}
    found = compare(CASE, head, StoredRuns([head, head]), Rule(), V1)
    assert (found.name, found.relative_to) == ("unchanged", "")


def test_identity_itself_is_judged_in_time() -> None:
    run = run_of(0.5, 1.0)
    found = compare(IDENTITY, run, StoredRuns([run]), Rule(), V1)
    assert (found.name, found.basis) == ("unchanged", "in time")


def project(cells: int, random: np.random.Generator, spread: float) -> dict[Case, Record]:
    """Return a run of groups of four, all cases of which differ from run to run by this spread and a shared one."""
    drift = random.normal(0, spread)
    compilers = ("identity", "onnxruntime", "openvino", "tvm")
    cases = [case(compilers[i % 4], workload=f"net{i // 4}") for i in range(cells)]
    code = {"graph": "1a2b"}
    return {each: measured(each, float(np.exp(drift + random.normal(0, spread))), follows_from=code) for each in cases}


def test_two_runs_of_twenty_cases_see_far_more_than_one_case_alone() -> None:
    random = np.random.default_rng(3)
    first, second, head = (project(20, random, 0.01) for _ in range(3))
    together = StoredRuns([first, second])
    shares = []
    for each in head:
        own = {each: head[each]}
        alone = compare(each, own, StoredRuns([{each: first[each]}, {each: second[each]}]), Rule(cells=20), V1)
        found = compare(each, head, together, Rule(cells=20), V1)
        assert found.detectable
        assert alone.detectable
        shares.append(found.detectable / alone.detectable)
    assert max(shares) < 0.8
    assert np.median(shares) < 0.55


@pytest.mark.parametrize(("cells", "runs"), [(4, 2), (20, 2), (20, 5)])
def test_the_level_holds_over_a_run_of_many_cases(cells: int, runs: int) -> None:
    random = np.random.default_rng(cells + runs)
    rule = Rule(margin=1e-9, level=0.1, cells=cells)
    trials, alarms = 60, 0
    for _ in range(trials):
        stored = StoredRuns([project(cells, random, 0.02) for _ in range(runs)])
        head = project(cells, random, 0.02)
        alarms += any(compare(each, head, stored, rule, V1).name == "regressed" for each in head)
    assert alarms / trials <= 0.17  # two standard errors above the level


def test_a_ratio_is_no_regression_where_other_work_slowed_identity_more() -> None:
    """Other work was beside the baseline's runs, which took no less time than this one."""
    busy = Contention(pressure_percent=40.0)
    stored = {each: replace(record, contention=busy) for each, record in run_of(1.0, 2.0).items()}
    found = compare(CASE, run_of(1.0, 0.5), StoredRuns([stored] * 3), Rule(), V1)
    assert (found.name, found.reason) == ("inconclusive", "the machine was busy during the baseline's runs")
    slower = compare(CASE, run_of(3.0, 0.5), StoredRuns([stored] * 3), Rule(), V1)
    assert slower.name == "regressed"
