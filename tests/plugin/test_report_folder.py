"""`--ngraph-report`, from the run of a user's project."""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from judged import result

from pytest_ngraph import store
from pytest_ngraph.plugin import report_folder
from pytest_ngraph.plugin.outcomes import RESULT

REPORT = ("--compiler=mine:Exact", "--ngraph-report=report")
ONE = (*REPORT, "--batch-size=4")


@pytest.fixture(scope="module")
def _drawing() -> None:
    """This process has imported what draws a report: pytester forgets what a run is the first to import."""
    for module in ("figures", "page", "records", "tables"):
        import_module(f"pytest_ngraph.report.study.{module}")


def table(project: pytest.Pytester, name: str) -> list[dict[str, str]]:
    with (project.path / "report" / "tables" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.usefixtures("_drawing")
def test_a_run_leaves_a_report_of_what_it_measured(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        from pytest_ngraph.metrics import Metric
        from pytest_ngraph.stats import Estimate

        def pytest_ngraph_metrics(records):
            return [Metric("mine.answer", record.case, Estimate.exactly(42.0)) for record in records]
        """
    )
    result = quick_project.runpytest(*ONE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Report: report/index.html"])
    assert {row["label"] for row in table(quick_project, "deploy")} == {"plain"}
    assert table(quick_project, "failures") == []
    assert (quick_project.path / "report" / "index.html").read_text().startswith("<!doctype html>")


@pytest.mark.usefixtures("_drawing")
def test_an_interrupted_run_leaves_a_report_of_what_it_has(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        import pytest

        def pytest_ngraph_record(record):
            if record.case.batch_size == 1:
                raise KeyboardInterrupt
        """
    )
    result = quick_project.runpytest_inprocess(*REPORT, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(
        [
            "1 of 2 cases not measured, because the run ended before: --ngraph-resume continues it.",
            "Report: *report/index.html",
        ]
    )
    assert {row["batch_size"] for row in table(quick_project, "deploy")} == {"1"}
    page = (quick_project.path / "report" / "index.html").read_text()
    assert "1 case more was to be measured: a run did not come to its end." in page
    assert "<strong>1</strong> not measured so far" in page


@pytest.mark.usefixtures("_drawing")
def test_the_report_of_a_finished_run_misses_nothing_that_a_fixture_skipped(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def _only_small(ngraph_case):
            if ngraph_case.batch_size > 1:
                pytest.skip("large")
        """
    )
    quick_project.runpytest(*REPORT).assert_outcomes(passed=1, skipped=1)
    page = (quick_project.path / "report" / "index.html").read_text()
    assert "did not come to its end" not in page
    assert "not measured so far" not in page


@pytest.mark.parametrize("option", ["--collect-only", "--benchmark-disable"])
def test_what_measures_nothing_leaves_no_report(quick_project: pytest.Pytester, option: str) -> None:
    assert quick_project.runpytest(*ONE, option).ret == 0
    assert not (quick_project.path / "report").exists()


def test_a_report_that_cannot_be_written_is_told_before_anything_is_measured(quick_project: pytest.Pytester) -> None:
    Path(quick_project.path / "report").touch()
    result = quick_project.runpytest(*ONE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cannot write a report to *report: File exists. Give another folder."])
    assert store.run_ids(quick_project.path / ".ngraph") == []


def test_a_report_that_fails_in_the_end_takes_nothing_with_it(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(
        """
        import shutil

        def pytest_ngraph_record(record):
            shutil.rmtree("report", ignore_errors=True)
            open("report", "w").close()
        """
    )
    result = quick_project.runpytest(*ONE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["The report could not be written to *report: *"])
    assert len(store.read(quick_project.path / ".ngraph").records) == 1


def test_a_library_that_fails_while_drawing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(result: object, folder: Path) -> Path:
        raise ValueError("no such scale")

    monkeypatch.setattr(report_folder, "_write", fails)
    stash = pytest.Stash()
    stash[RESULT] = result()
    stash[report_folder.FOLDER] = tmp_path
    report_folder.write(cast("pytest.Config", SimpleNamespace(stash=stash)))
    assert stash[report_folder.PLACE] == f"The report could not be written to {tmp_path}: ValueError: no such scale"
