"""The parts of `tools/gate.py` that measure nothing."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from gate_trials import asv_rule, benchmark_plugin, injection, product, table
from gate_trials.cells import Cell, Session, plan
from gate_trials.repository import Repository
from gate_trials.results import Injection, Judgement, Results

CELL = Cell(condition="quiet", threads=1, compiler="torchscript", slowdown_percent=2.0, index=0)
INJECTION = Injection(
    network="convolutions",
    compiler="torchscript",
    threads=1,
    slowdown_percent=2.0,
    rows=40,
    true_percent=2.05,
    low_percent=1.9,
    high_percent=2.2,
)
OUTPUT = """
  regressed     networks:attention,cell=3-torchscript-b1-cpu   +2.9%
  unchanged     networks:attention,cell=4-torchscript-b1-cpu   +0.1%
"""
JUNIT = """<testsuites><testsuite>
<testcase name="test_cell_3[networks:attention,cell=3-torchscript-b1-cpu]"><properties>
  <property name="ngraph_verdict" value="inconclusive"/></properties></testcase>
<testcase name="test_cell_4[networks:attention,cell=4-torchscript-b1-cpu]"><properties>
  <property name="ngraph_verdict" value="unchanged"/></properties></testcase>
<testcase name="test_cell_5[networks:attention,cell=5-torchscript-b1-cpu]"/>
</testsuite></testsuites>"""


def planned(count: int, done: list[Cell]) -> list[Session]:
    return plan(
        conditions=["quiet", "busy"],
        threads=[2, 1],
        compilers=["torchscript"],
        slowdowns_percent=[0.0, 2.0],
        count=count,
        done=done,
        most=3,
    )


def judgement(rule: str, verdict: str) -> Judgement:
    return Judgement(cell=CELL, rule=rule, verdict=verdict, ratio=1.02, measured_s=3.0, wall_s=12.0)


def test_sessions_hold_every_cell_once_and_conditions_take_turns() -> None:
    sessions = planned(4, [])
    cells = [cell for session in sessions for cell in session.cells]
    assert len(cells) == len(set(cells)) == 2 * 2 * 2 * 4
    assert max(len(session.cells) for session in sessions) == 3
    assert len({(session.condition, session.threads) for session in sessions[:4]}) == 4
    assert all((cell.condition, cell.threads) == (s.condition, s.threads) for s in sessions for cell in s.cells)


def test_what_is_done_is_not_planned_again() -> None:
    done = [cell for session in planned(2, []) for cell in session.cells]
    left = [cell for session in planned(3, done) for cell in session.cells]
    assert set(left).isdisjoint(done)
    assert Counter(cell.index for cell in left) == {2: 8}


def test_results_are_read_back_and_count_once_all_rules_have_judged(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl")
    results.add([INJECTION, judgement("gate", "inconclusive")])
    results.add([judgement("gate", "regressed"), judgement("asv", "unchanged")])
    again = Results(tmp_path / "results.jsonl")
    assert again.injection_of(CELL) == INJECTION
    assert again.judgements[CELL, "gate"].verdict == "regressed"
    assert again.judged(["gate", "asv"]) == [CELL]
    assert again.judged(table.RULES) == []


def test_the_table_counts_verdicts_and_shows_the_true_slowdown(tmp_path: Path) -> None:
    results = Results(tmp_path / "results.jsonl")
    results.add([INJECTION, judgement("asv", "unchanged"), judgement("mean:5%", "regressed")])
    assert "| 1, 2 % |" not in table.report(results), "the gate has not judged"
    results.add([judgement("gate", "regressed")])
    row = next(line for line in table.report(results).splitlines() if line.startswith("| 1, 2 %"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:7] == ["2.05 (1.9 to 2.2)", "1", "1", "0", "0", "0"]
    assert cells[7:] == ["3.0, 3.0 s", "12 s", "–", "1 of 1 (3.0 s)", "0 of 1 (3.0 s)"]


def test_the_gates_last_word_counts() -> None:
    assert product.final_verdicts(JUNIT, OUTPUT) == {3: "regressed", 4: "unchanged"}


def test_regressions_of_pytest_benchmark_are_read() -> None:
    line = "\ttest_cell_1[networks:attention,cell=1-x] (0001_base) - Field 'median' has failed Check: 21.1 > 5.0\n"
    assert benchmark_plugin.failures("Performance has regressed:\n" + line) == {(1, "median")}


def test_mann_whitney_agrees_with_the_table() -> None:
    # u = 0 of 30 * 30: z = 450 / sqrt(900 * 61 / 12) = 6.653
    low, high = [1.0 + i / 1000 for i in range(30)], [2.0 + i / 1000 for i in range(30)]
    assert asv_rule.mann_whitney(low, high) == pytest.approx(2.87e-11, rel=0.01)
    assert asv_rule.mann_whitney(low, low) == pytest.approx(1.0)


@pytest.mark.parametrize(("factor", "worse"), [(1.0, False), (1.08, False), (1.12, True), (0.8, False)])
def test_asv_wants_a_tenth_more_time(factor: float, worse: bool) -> None:
    base = [1.0 + i / 1000 for i in range(30)]
    assert asv_rule.got_worse(base, [factor * seconds for seconds in base]) is worse


def test_asv_wants_samples_that_differ() -> None:
    assert not asv_rule.got_worse([1.0, 1.0, 3.0], [1.2, 0.9, 3.0])


def test_rows_follow_from_the_curve() -> None:
    assert injection.rows_for(3.0, [0.0005, 0.0]) == round(math.log(1.03) / 0.0005)
    assert injection.rows_for(3.0, [0.0004, 0.000002]) == 57  # 0.0004 * 57 + 0.000002 * 57**2 = 0.0293
    assert injection.rows_for(1.0, [0.03, 0.0]) == 1


def test_the_curve_goes_through_what_was_measured() -> None:
    measured = {rows: 0.0004 * rows + 0.000001 * rows**2 for rows in injection.ROWS}
    assert injection.curve_through(measured) == pytest.approx([0.0004, 0.000001])


def test_rows_that_cost_nothing_are_refused() -> None:
    with pytest.raises(RuntimeError, match="quiet machine"):
        injection.rows_for(3.0, [-0.0001, 0.0])


def test_the_slowdown_has_the_interval_of_students_t() -> None:
    # mean 0.02, standard error 0.001 / sqrt(4), t(3 dof) = 3.182
    ratios = [0.02 + step for step in (-0.001, 0.001, -0.001, 0.001)]
    estimate = injection.slowdown_percent(ratios)
    half = 3.182 * 0.001 * math.sqrt(4 / 3) / 2
    assert estimate.value == pytest.approx(100 * math.expm1(0.02))
    assert estimate.low == pytest.approx(100 * math.expm1(0.02 - half), rel=1e-3)


def test_revisions_differ_in_seeds_and_excess_rows(tmp_path: Path) -> None:
    unchanged = Cell(condition="quiet", threads=1, compiler="onnxruntime", slowdown_percent=0.0, index=1)
    repository = Repository(tmp_path, [CELL, unchanged], [40, 0], threads=1)
    base, head = (json.loads((tree / "cells.json").read_text()) for tree in (repository.base, repository.head))
    assert [cell["rows"] for cell in base.values()] == [0, 0]
    assert [cell["rows"] for cell in head.values()] == [40, 0]
    assert all(base[number]["seed"] != head[number]["seed"] for number in base)
    for name in ("networks.py", "test_gate.py", "pytest.ini", "devices.toml"):
        assert (repository.base / name).read_text() == (repository.head / name).read_text()
    repository.write_timed_tests({CELL: 300})
    timed = (repository.base / "test_timed.py").read_text()
    assert "rounds=300" in timed
    assert "def test_cell_1" not in timed
