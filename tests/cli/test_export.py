from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_ngraph.case import Case
from pytest_ngraph.cli import main
from pytest_ngraph.record import Failure, Record, Round
from pytest_ngraph.store import Journal


@pytest.fixture
def stored(tmp_path: Path, a_case: Case) -> Path:
    """A store with a run of a case that was measured and one that failed."""
    journal = Journal(tmp_path / "store", {})
    journal.append(Record(case=a_case, outcome="measured", rounds=(Round(1, 0.5),) * 6))
    failure = Failure(phase="compile", kind="raised", message="no")
    journal.append(Record(case=Case(workload="b", compiler="tvm", batch_size=1), outcome="failed", failure=failure))
    return tmp_path / "store"


def test_standard_output_is_the_format_and_nothing_else(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(stored), "--format=bencher"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["resnet18-identity-b8-cpu"]["latency"]["value"] == 0.5e9
    assert printed.err == "left out: 1 case without a measurement\n"


def test_a_file(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.json"
    assert main(["export", str(stored), "--format", "github-action-benchmark", "-o", str(output)]) == 0
    (entry,) = json.loads(output.read_text())
    assert (entry["name"], entry["value"], entry["unit"]) == ("resnet18-identity-b8-cpu", 500.0, "ms")
    assert capsys.readouterr().out == ""


def test_mistakes_are_one_message(stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(stored), "--format=bencher", "-o", str(tmp_path / "none" / "x")]) == 2
    assert "Give another file: --output=FILE." in capsys.readouterr().err
    assert main(["export", str(stored), "--format=bencher", "--run=no"]) == 2
    assert "has no run 'no'" in capsys.readouterr().err


def test_a_run_without_measurements_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal(tmp_path, {})
    journal.append(Record(case=Case(workload="b", compiler="tvm", batch_size=1), outcome="skipped", skip_reason="no"))
    assert main(["export", str(tmp_path), "--format=bencher"]) == 2
    assert capsys.readouterr().err == (
        f"pytest-ngraph: run {journal.id} has no measurement to export. Give another run: --run=ID.\n"
    )
