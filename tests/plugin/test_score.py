"""The user's own score, from the mark to limits, what is shown and what is written."""

from __future__ import annotations

import json

import pytest

from pytest_ngraph import store

TESTS = """
import pytest

@pytest.mark.ngraph_gate("score<0.9 if compiler=mine*")
@pytest.mark.ngraph(workload="mine:network", compiler=["identity", "mine:Exact"], batch_size=2, score="scores:rows")
def test_network(measurement):
    assert measurement.score == measurement.case.batch_size / 4

@pytest.mark.ngraph(workload="mine:network", compiler="mine:Exact", batch_size=1, score="scores:rows")
def test_one_row(measurement): ...
"""
SCORES = """
def rows(outputs):
    (output,) = outputs
    assert output.shape[0] > 1, "no row to compare with"
    return output.shape[0] / 4
"""


def test_it_is_shown_written_and_limited_and_measured_again_when_its_code_changes(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=TESTS, scores=SCORES)
    result = project.runpytest("--benchmark-json=out.json")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*score<0.9 if compiler=mine[*] breached: * has score 0.500*",
            "*score scores:rows raised AssertionError: no row to compare with. It is called with*float32 1x3*",
            "*samples/s*score*",
        ],
        consecutive=False,
    )
    replayed = json.loads((project.path / "out.json").read_text())["benchmarks"]
    assert [each["extra_info"]["score"] for each in replayed] == [0.5, 0.5]
    assert {each["extra_info"]["scored_by"] for each in replayed} == {"scores:rows"}

    (run,) = store.run_ids(project.path / ".ngraph")
    assert "measured again" not in project.runpytest(f"--ngraph-resume={run}", "-k", "test_network").stdout.str()
    project.makepyfile(scores=SCORES.replace("/ 4", "/ 2"))
    result = project.runpytest(f"--ngraph-resume={run}", "-k", "test_network")
    result.stdout.fnmatch_lines(["*2 cases measured again: scores.py changed.*"])
    assert {record.score for record in store.read(project.path / ".ngraph").records if record.rounds} == {1.0}


def test_what_is_no_function_is_refused_before_anything_is_measured(project: pytest.Pytester) -> None:
    project.makepyfile(test_it=TESTS.replace("scores:rows", "scores.rows"))
    result = project.runpytest()
    assert "score 'scores.rows' is not an import string. Write package.module:function." in result.stderr.str()
    assert not (project.path / ".ngraph").exists()
