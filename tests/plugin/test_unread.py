"""Cases that a pull request did not change: compared, not measured, unless somebody reads a figure of theirs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import plain
import pytest
from repository import Repository

from pytest_ngraph import store

TESTS = """
import pytest

@pytest.mark.ngraph(workload="plain_same", compiler="weighing:Weighs")
def test_same(measurement): {reads}

@pytest.mark.ngraph(workload="plain_other", compiler="weighing:Weighs")
def test_other(measurement): ...
"""

TIME_IS_UP = """
from pytest_ngraph.plugin.assembly import SESSION

def pytest_runtest_teardown(item):
    item.config.stash[SESSION]._clock = lambda: float("inf")
"""


@pytest.fixture
def branch(quick_project: pytest.Pytester) -> Repository:
    """A repository whose uncommitted change is in one of two workloads: other numbers, of the same weight."""
    shutil.copy(plain.USERS / "weighing.py", quick_project.path)
    quick_project.makeini(
        "[pytest]\nngraph_budget = 0.05\nngraph_precision_target = 50%\n"
        "ngraph_inconclusive = pass\nngraph_launches = 3\n"
    )
    made = Repository.create(quick_project.path)
    made.write(".gitignore", ".ngraph\n__pycache__\n.pytest_cache\n*.json\n")
    made.write("numbers.txt", "60 20 20")
    made.write("plain_other.txt", "60 20 20")
    made.write("test_it.py", TESTS.format(reads="..."))
    made.commit("first")
    made.write("plain_other.txt", "50 30 20")
    return made


def outcomes(folder: Path) -> dict[str, str]:
    return {record.case.workload: record.outcome for record in store.read(folder / ".ngraph").records}


def test_what_is_unchanged_passes_unmeasured(pytester: pytest.Pytester, branch: Repository) -> None:
    result = pytester.runpytest("--ngraph-against=main", "--ngraph-summary=gate.md")
    result.assert_outcomes(passed=2)
    assert outcomes(branch.root) == {"plain_same": "unchanged", "plain_other": "measured"}
    result.stdout.fnmatch_lines(["*unchanged *plain_same-weighing:Weighs*"])
    data = json.loads((branch.root / "gate.json").read_text())
    assert {each["case"]["workload"]: each["name"] for each in data["verdicts"]}["plain_same"] == "unchanged"
    assert (branch.root / "gate.md").read_text().startswith("**None of 2 cases regressed against main")


@pytest.mark.parametrize(
    "option", ["--benchmark-json=out.json", "--ngraph-report=report", "--ngraph-fail-on=throughput<0.001"]
)
def test_an_option_that_needs_figures_has_it_measured(
    pytester: pytest.Pytester, branch: Repository, option: str
) -> None:
    pytester.runpytest("--ngraph-against=main", option, "-k", "same").assert_outcomes(passed=1)
    assert outcomes(branch.root) == {"plain_same": "measured"}


def test_a_test_that_reads_a_figure_has_it_measured(pytester: pytest.Pytester, branch: Repository) -> None:
    branch.write(
        "test_it.py", TESTS.format(reads="assert measurement.throughput > 0 and measurement.case.batch_size == 1")
    )
    pytester.runpytest("--ngraph-against=main", "-k", "same").assert_outcomes(passed=1)
    assert outcomes(branch.root) == {"plain_same": "measured"}


def test_a_test_that_reads_a_figure_when_the_time_is_up_is_skipped(
    pytester: pytest.Pytester, branch: Repository
) -> None:
    """The first was measured before."""
    two = TESTS.replace(
        '"plain_same", compiler="weighing:Weighs"', '"plain_same", compiler=["weighing:Weighs", "mine:Exact"]'
    )
    branch.write("test_it.py", two.format(reads="assert measurement.throughput > 0"))
    branch.write("conftest.py", TIME_IS_UP)
    branch.commit("two compilers")
    result = pytester.runpytest("--ngraph-against=main", "--ngraph-max-seconds=600", "-rs", "-k", "same")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED * the time of --ngraph-max-seconds=600 is over; --ngraph-resume continues the run"]
    )
    kept = {record.case.compiler: record.outcome for record in store.read(branch.root / ".ngraph").records}
    assert kept == {"weighing:Weighs": "measured", "mine:Exact": "unchanged"}


def test_a_test_that_reads_only_the_case_does_not(pytester: pytest.Pytester, branch: Repository) -> None:
    branch.write(
        "test_it.py",
        TESTS.format(reads="assert isinstance(measurement, __import__('pytest_ngraph').Record) and measurement.case"),
    )
    pytester.runpytest("--ngraph-against=main", "-k", "same").assert_outcomes(passed=1)
    assert outcomes(branch.root)["plain_same"] == "unchanged"


def test_what_is_unchanged_stands_when_the_run_is_resumed(pytester: pytest.Pytester, branch: Repository) -> None:
    pytester.runpytest("--ngraph-against=main", "-x", "-k", "same")
    result = pytester.runpytest(
        "--ngraph-against=main", f"--ngraph-resume={store.run_ids(branch.root / '.ngraph')[-1]}"
    )
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["1 case of run * taken over from an earlier session."])
    assert outcomes(branch.root)["plain_same"] == "unchanged"
