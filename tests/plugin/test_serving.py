"""What serving costs, from the option or a threshold to what is shown and written."""

from __future__ import annotations

import json

import plain
import pytest

from pytest_ngraph import store
from pytest_ngraph.record import Record

TESTS = """
import pytest

@pytest.mark.ngraph_gate("artifact>1B if compiler=deployable*")
@pytest.mark.ngraph(workload="mine:network", compiler=["deployable:Remembers", "mine:Exact"], batch_size=1)
def test_network(measurement): ...
"""


@pytest.fixture
def project(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """The project whose test has a threshold that one of two cases breaches."""
    monkeypatch.setattr("pytest_ngraph.bench.rounds.serving.LAUNCHES", 1)
    project.makepyfile(test_it=TESTS, deployable=(plain.USERS / "deployable.py").read_text())
    return project


def records(project: pytest.Pytester) -> list[Record]:
    return sorted(store.read(project.path / ".ngraph").records, key=lambda record: record.case.compiler)


def test_a_threshold_asks_for_it_in_its_cases_and_the_option_in_all(project: pytest.Pytester) -> None:
    result = project.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*cold start*", "*artifact_bytes>1B if compiler=deployable[*] breached*"])
    served, exact = records(project)
    assert served.serving
    assert len(served.serving.launches) == 1
    assert exact.serving is None
    (run,) = store.run_ids(project.path / ".ngraph")

    result = project.runpytest(
        f"--ngraph-resume={run}", "--ngraph-serving", "--benchmark-json=out.json", "--ngraph-summary=summary.md"
    )
    result.stdout.fnmatch_lines(
        [
            "*1 case measured again: what serving costs was not measured.*",
            "*- costs to serve under mine:Exact: it cannot be deployed: mine:Exact has no*",
        ]
    )
    again, exact = records(project)
    assert again == served
    assert exact.serving
    assert exact.serving.problem.startswith("it cannot be deployed: mine:Exact has no method deploy")
    assert exact.rounds
    replayed = json.loads((project.path / "out.json").read_text())["benchmarks"]
    infos = {each["extra_info"]["compiler"]: each["extra_info"] for each in replayed}
    assert infos["deployable:Remembers"]["cold_start_s"] == served.serving.launches[0].cold_start_s
    assert infos["mine:Exact"]["cold_start_s"] is None
    results = json.loads((project.path / "summary.json").read_text())["results"]
    shown = {each["case"]["compiler"]: each["serving"] for each in results}
    assert shown["deployable:Remembers"]["artifact_bytes"]["value"] == served.serving.artifact_bytes
    assert shown["mine:Exact"]["cold_start_s"] is None
