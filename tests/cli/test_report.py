from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.cli import main
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Record, Round
from pytest_ngraph.store import Journal


def a_store(folder: Path, device: str = "cpu", seconds: float = 0.01, **environment: str) -> str:
    """Make a store of one run: a model at two batch sizes, twice as fast under OpenVINO as under identity."""
    journal = Journal(folder, {"processor": "Xeon", **environment})
    for compiler, factor in (("identity", 1.0), ("openvino", 0.5)):
        for size in (1, 8):
            case = Case(workload="resnet18", compiler=compiler, batch_size=size, device=device)
            rounds = (Round(1, seconds * factor * size),) * 9
            journal.append(Record(case=case, outcome="measured", rounds=rounds, stable=True))
    journal.close()
    return str(folder)


def test_report_prints_the_summary_of_the_latest_run(
    tmp_path: Path, a_case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = Journal(tmp_path, {"processor": "Xeon"})
    journal.append(Record(case=a_case, outcome="measured", rounds=(Round(1, 0.5),) * 6, stable=True))
    assert main(["report", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert f"run {journal.id}: 1 record, Xeon" in printed
    assert "resnet18 on cpu" in printed
    assert "16.0" in printed
    assert "Verdicts" not in printed


def test_a_note_says_that_verdicts_are_not_shown(
    tmp_path: Path, a_case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds = (Round(1, 0.5),) * 6
    Journal(tmp_path, {}).append(
        Record(case=a_case, outcome="measured", rounds=rounds, stable=True, comparison=Comparison(against="main"))
    )
    assert main(["report", str(tmp_path)]) == 0
    note = "Verdicts are not shown here. To keep those of a run, use pytest --ngraph-summary=FILE."
    assert capsys.readouterr().out.endswith(f"\n{note}\n")


def test_records_of_another_version_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = a_store(tmp_path / "store")
    (path,) = (tmp_path / "store").glob("*.jsonl")
    path.write_text(path.read_text().replace('"stable":true', '"steady":true', 1))
    note = "1 line left out: not readable as a record by this version"
    assert main(["report", store]) == 0
    assert f"\n{note}\n" in capsys.readouterr().out
    assert main(["report", store, "--table", "deploy"]) == 0
    assert capsys.readouterr().err == f"pytest-ngraph: run {path.stem}: {note}\n"


def test_several_stores_become_one_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = [a_store(tmp_path / device, device) for device in ("xeon", "orin")]
    assert main(["report", *stores, "-o", str(tmp_path / "report")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'report' / 'index.html'}\n"
    assert (tmp_path / "report" / "records.parquet").exists()
    devices = (tmp_path / "report" / "tables" / "devices.csv").read_text().splitlines()
    assert sorted(line.split(",")[0] for line in devices) == ["device", "orin", "xeon"]


def test_one_table_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = a_store(tmp_path / "store")
    assert main(["report", store, "--table", "deploy"]) == 0
    assert capsys.readouterr().out.startswith("## Which should I deploy?\n")
    assert main(["report", store, "--table", "deploy", "-o", str(tmp_path / "report")]) == 0
    folder = tmp_path / "report" / "tables"
    assert capsys.readouterr().out.splitlines() == [str(folder / f"deploy.{e}") for e in ("csv", "md", "tex")]
    assert sorted(path.name for path in tmp_path.glob("report/**/*") if path.is_file()) == [
        "deploy.csv",
        "deploy.md",
        "deploy.tex",
    ]


def test_one_figure_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = a_store(tmp_path / "store")
    assert main(["report", store, "--figure", "multiplier", "-o", str(tmp_path / "report")]) == 0
    folder = tmp_path / "report" / "figures"
    assert capsys.readouterr().out.splitlines() == [str(folder / f"multiplier.{e}") for e in ("svg", "png", "pdf")]
    assert (folder / "multiplier.svg").read_text().startswith("<svg")


def test_changes_since_an_earlier_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = a_store(tmp_path / "before", seconds=0.02), a_store(tmp_path / "after", seconds=0.01)
    assert main(["report", after, "--before", before, "--table", "changes"]) == 0
    assert "| -50.0 | faster |" in capsys.readouterr().out


def test_two_runs_or_devices_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = [a_store(tmp_path / name, name, 0.01 * factor) for name, factor in (("xeon", 1.0), ("orin", 5.0))]
    assert main(["report", *stores, "--compare", "xeon", "orin"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("## Side by side: devices xeon and orin\n")
    assert shown.count(" surely slower |") == 4
    again = a_store(tmp_path / "twice")
    a_store(tmp_path / "twice", seconds=0.02)
    ids = store.run_ids(Path(again))
    command = [
        "report",
        again,
        "--compare",
        ids[0],
        "latest",
        "--table",
        "side_by_side",
        "-o",
        str(tmp_path / "report"),
    ]
    assert main(command) == 0
    rows = (tmp_path / "report" / "tables" / "side_by_side.csv").read_text().splitlines()
    assert f"{ids[1]} (s)" in rows[0]
    assert len(rows) == 5
    capsys.readouterr()
    assert main(["report", again, "--compare", "latest", ids[1]]) == 2
    assert f"--compare latest {ids[1]}: both are run {ids[1]}. Name two runs" in capsys.readouterr().err


def test_a_device_that_is_two_machines_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = [a_store(tmp_path / name, fingerprint=name) for name in ("one", "other")]
    assert main(["report", *stores, "--table", "devices"]) == 0
    assert "device cpu stands for 2 different machines" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{store}", "-o", "{file}"], "cannot write a report to {file}: File exists. Give another folder."),
        (["{empty}", "-o", "{new}"], "the store {empty} has no runs. Run pytest first, or give another folder."),
        (["{store}", "--figure", "bsr"], "--figure, and --before without --table, need a folder to write to: -o DIR."),
        (
            ["{store}", "--compare", "a", "b", "--figure", "bsr"],
            "--figure, and --before without --table, need a folder to",
        ),
        (
            ["{store}", "--compare", "a", "b", "--before", "{store}"],
            "--figure, and --before without --table, need a folder to",
        ),
        (["{store}", "--table", "famlies"], "unknown table 'famlies'. Did you mean 'families'? Known: architectures, "),
        (["{store}", "--figure", "brs", "-o", "{new}"], "unknown figure 'brs'. Did you mean 'bsr'? Known: ase, "),
        (["{store}", "--compare", "cpu", "cpu"], "--compare cpu cpu: that is the same. Name two runs, or two devices."),
        (["{store}", "--compare", "cpu", "cpy"], "unknown --compare 'cpy'. Did you mean 'cpu'? Known: "),
        (["{store}", "--figure", "changes", "-o", "{new}"], "figure changes has no data: "),
        (["{store}", "--run", "never", "-o", "{new}"], "the store {store} has no run 'never'. Runs: "),
    ],
    ids=[
        "file",
        "empty",
        "folder",
        "compared figure",
        "compared before",
        "table",
        "figure",
        "same",
        "side",
        "missing",
        "run",
    ],
)
def test_mistakes_are_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    paths = {name: str(tmp_path / name) for name in ("store", "file", "empty", "new")}
    a_store(tmp_path / "store")
    (tmp_path / "file").touch()
    assert main(["report", *(argument.format(**paths) for argument in arguments)]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"pytest-ngraph: {message.format(**paths)}")
    assert printed.count("\n") == 1


def test_a_missing_library_is_named_with_the_command_that_installs_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.report.study.NEEDED", ("polars", "no_such_library"))
    assert main(["report", a_store(tmp_path / "store"), "-o", str(tmp_path / "report")]) == 2
    assert capsys.readouterr().err == (
        'pytest-ngraph: a report needs no_such_library: pip install "pytest-ngraph[report]"\n'
    )
    assert not (tmp_path / "report").exists()


def test_a_store_without_runs_is_one_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"pytest-ngraph: the store {tmp_path} has no runs. Run pytest first, or give another folder.\n"
    )
