"""Single calls, as users see them: asked for by an option or a threshold, and compared with a base."""

from __future__ import annotations

import json

import pytest
from repository import Repository

from pytest_ngraph import store
from pytest_ngraph.record import Record

TESTS = """
import pytest

@pytest.mark.ngraph(workload="plain", compiler=["stuttering:Stutters", "mine:Exact"])
def test_it(measurement): ...
"""
INI = "[pytest]\nngraph_budget = 0.05\nngraph_precision_target = 50%\nngraph_inconclusive = pass\n"
STUTTERS = "plain-stuttering:Stutters-b1-cpu"


@pytest.fixture
def stuttering(quick_project: pytest.Pytester) -> pytest.Pytester:
    """A project in which every 50th call of a compiler takes ten times as long."""
    quick_project.makeini(INI)
    quick_project.makepyfile(test_it=TESTS)
    (quick_project.path / "numbers.txt").write_text("10 2 3")
    return quick_project


def records(project: pytest.Pytester) -> dict[str, Record]:
    return {record.case.compiler: record for record in store.read(project.path / ".ngraph").records}


def test_a_threshold_has_the_calls_of_its_cases_timed(stuttering: pytest.Pytester) -> None:
    limits = ["p50>5ms if compiler=*Stutters", "p99>5ms if compiler=*Stutters"]
    result = stuttering.runpytest(*(f"--ngraph-fail-on={limit}" for limit in limits))
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"p99_s>5ms if compiler=[*]Stutters breached: {STUTTERS} has p99_s 10.* ms *"])
    result.stdout.no_fnmatch_line("*p50_s>5ms*breached*")
    found = records(stuttering)
    assert len(found["stuttering:Stutters"].calls) > 368
    assert found["mine:Exact"].calls == (), "no threshold needs them"


def test_the_option_has_the_calls_of_all_timed_and_shown(stuttering: pytest.Pytester) -> None:
    result = stuttering.runpytest("--ngraph-tails=0.1", "--benchmark-json=out.json", "--compiler=stuttering:Stutters")
    result.assert_outcomes(passed=1)
    printed = " ".join(result.stdout.str().split())
    assert "- p99: too few calls of stuttering:Stutters fit into the time; --ngraph-tails=1 has enough" in printed
    (benchmark,) = json.loads((stuttering.path / "out.json").read_text())["benchmarks"]
    assert benchmark["extra_info"]["p50_s"] == pytest.approx(0.001)
    assert benchmark["extra_info"]["p99_s"] is None


def test_a_run_is_resumed_with_the_calls_that_are_asked_for(stuttering: pytest.Pytester) -> None:
    stuttering.runpytest("--compiler=stuttering:Stutters").assert_outcomes(passed=1)
    run = store.run_ids(stuttering.path / ".ngraph")[-1]
    again = stuttering.runpytest("--compiler=stuttering:Stutters", f"--ngraph-resume={run}", "--ngraph-tails")
    again.stdout.fnmatch_lines(["1 case measured again: tails_s: none -> 1.0."])
    assert records(stuttering)["stuttering:Stutters"].calls
    kept = stuttering.runpytest("--compiler=stuttering:Stutters", f"--ngraph-resume={run}")
    kept.stdout.fnmatch_lines([f"1 case of run {run} taken over from an earlier session."])


def test_the_gate_finds_what_the_median_does_not_show(stuttering: pytest.Pytester) -> None:
    made = Repository.create(stuttering.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n.pytest_cache\n*.json\n*.md\n")
    made.write("numbers.txt", "1 2 3")
    made.commit("steady")
    made.write("numbers.txt", "10 2 3")
    result = stuttering.runpytest(
        "--ngraph-against=main",
        "--compiler=stuttering:Stutters",
        "--ngraph-fail-on=p99:10%",
        "--ngraph-fail-on=p50:10%",
        "--ngraph-summary=gate.md",
    )
    result.assert_outcomes(failed=1)
    data = json.loads((stuttering.path / "gate.json").read_text())
    assert [each["name"] for each in data["verdicts"]] == ["unchanged"]
    found = {each["metric"]: each for each in data["metrics"]}
    assert {name: each["name"] for name, each in found.items()} == {"p50_s": "unchanged", "p99_s": "regressed"}
    assert found["p99_s"]["head"] == pytest.approx(0.01)
    assert found["p99_s"]["base"] == pytest.approx(0.001)
    assert data["results"][0]["p99_s"]["value"] == pytest.approx(0.01)
