from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case, measured

from pytest_ngraph import baselines
from pytest_ngraph.cli import main
from pytest_ngraph.store import Journal


@pytest.fixture
def kept(tmp_path: Path) -> str:
    """The option that names a store whose baseline `v1` has one run."""
    journal = Journal(tmp_path, {"processor": "Xeon", "fingerprint": "abc"})
    journal.append(measured(case("openvino", 8), 0.25))
    baselines.keep(tmp_path, "v1", journal.id)
    return f"--store={tmp_path}"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["baseline", *arguments]) == 0
    return capsys.readouterr().out


def test_list_and_show(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", kept).startswith("v1                     1 runs, 1 cases, ")
    shown = printed(capsys, "show", "v1", kept)
    assert "Xeon, abc" in shown
    assert "resnet18-openvino-b8-xeon" in shown
    assert "250 ms" in shown


def test_an_empty_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "list", f"--store={tmp_path}").endswith("pytest --ngraph-save=NAME makes one.\n")


def test_bless_and_undo(kept: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is anchored" in printed(capsys, "bless", "v1", kept)
    assert "anchored" in printed(capsys, "list", kept)
    assert "is free" in printed(capsys, "bless", "--undo", "v1", kept)
    assert "anchored" not in printed(capsys, "list", kept)


def test_export_and_import(kept: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "release.jsonl"
    assert "1 runs" in printed(capsys, "export", "v1", str(file), kept)
    assert "baseline release: 1 runs" in printed(capsys, "import", str(file), kept)
    assert "baseline other: 1 runs" in printed(capsys, "import", str(file), "other", kept)
    assert main(["baseline", "import", str(file), kept]) == 2
    assert capsys.readouterr().err.startswith("pytest-ngraph: baseline release exists.")
