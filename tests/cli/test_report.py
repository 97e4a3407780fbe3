from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.cli import main
from pytest_ngraph.record import Record, Round
from pytest_ngraph.store import Journal


def test_report_prints_the_summary_of_the_latest_run(
    tmp_path: Path, a_case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path, {"processor": "Xeon"})
    journal.append(Record(case=a_case, outcome="measured", rounds=(Round(1, 0.5),) * 6, stable=True))
    assert main(["report", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"run {journal.id}: 1 records, Xeon" in printed
    assert "resnet18 on cpu" in printed
    assert "16.0" in printed


def test_a_store_without_runs_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"pytest-ngraph: the store {tmp_path} has no runs. Run pytest first, or give another folder.\n"
    )
