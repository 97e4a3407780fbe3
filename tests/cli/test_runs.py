from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case, failed, measured, skipped

from pytest_ngraph.cli import main
from pytest_ngraph.cli.arguments import INTERRUPTED
from pytest_ngraph.store import Journal

PLANNED = [case("identity"), case("tvm"), case("openvino"), case("inductor")]


def begun(folder: Path) -> Journal:
    journal = Journal(folder, {}, lambda: [each.id for each in PLANNED])
    journal.append(measured(PLANNED[0], 0.1))
    journal.append(failed(PLANNED[1]))
    journal.enter(PLANNED[2], "compile")
    return journal


def test_a_run_that_died_is_listed_as_not_finished(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = begun(tmp_path)
    journal.close()
    with (tmp_path / f"{journal.id}.jsonl").open("a") as file:
        file.write('{"half a li')
    assert main(["runs", str(tmp_path)]) == 0
    outcomes = "1 measured, 1 failed, 1 crashed, 1 unfinished, 1 damaged line"
    assert capsys.readouterr().out == f"{journal.id}  xeon  {outcomes}  not finished\n"


def test_a_run_under_way_has_not_crashed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = begun(tmp_path)
    main(["runs", str(tmp_path)])
    assert capsys.readouterr().out.endswith("xeon  1 measured, 1 failed, 2 unfinished  being measured\n")
    journal.close()


def test_a_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = begun(tmp_path)
    journal.append(skipped(PLANNED[2], "not here"))
    journal.append(measured(PLANNED[3], 0.1))
    journal.end(whole=True)
    journal.close()
    main(["runs", str(tmp_path)])
    assert capsys.readouterr().out == f"{journal.id}  xeon  2 measured, 1 failed, 1 skipped\n"


def test_a_whole_run_whose_tests_skipped_cases_is_not_to_be_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path, {}, lambda: [each.id for each in PLANNED])
    journal.append(measured(PLANNED[0], 0.1))
    journal.end(whole=True)
    journal.close()
    main(["runs", str(tmp_path)])
    assert capsys.readouterr().out == f"{journal.id}  xeon  1 measured, 3 not measured\n"


def test_a_newer_run_does_not_hide_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.jsonl").write_text('{"schema": 99, "run": "a", "environment": {}}\n')
    begun(tmp_path).close()
    main(["runs", str(tmp_path)])
    first, second = sorted(capsys.readouterr().out.splitlines())
    assert "1 measured" in first
    assert "schema 99" in second


def test_no_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(tmp_path)]) == 0
    assert "no runs in" in capsys.readouterr().out


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(folder: Path) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_ngraph.store.run_ids", interrupted)
    assert main(["runs", "any"]) == INTERRUPTED
    assert capsys.readouterr().err == "\npytest-ngraph: interrupted\n"
