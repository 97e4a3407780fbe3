from __future__ import annotations

from pathlib import Path

import nights
import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.cli import main
from pytest_ngraph.history.pruning import prune
from pytest_ngraph.store import Journal


def written(folder: Path, *compilers: str) -> Path:
    journal = Journal(folder, {})
    for compiler in compilers:
        journal.append(measured(case(compiler), 0.1))
    journal.close()
    return folder / f"{journal.id}.jsonl"


def test_runs_of_all_stores_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [written(tmp_path / name, "identity") for name in ("xeon", "orin")]
    assert main(["merge", str(tmp_path / "xeon"), str(tmp_path / "orin"), "-o", str(tmp_path / "all")]) == 0
    assert store.run_ids(tmp_path / "all") == sorted(path.stem for path in paths)
    assert all((tmp_path / "all" / path.name).read_bytes() == path.read_bytes() for path in paths)
    assert all((tmp_path / "all" / path.name).stat().st_mode & 0o077 == 0 for path in paths)
    assert "2 runs added" in capsys.readouterr().out


def test_the_same_run_is_there_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "a", "identity")
    for _ in range(2):
        assert main(["merge", str(tmp_path / "a"), "-o", str(tmp_path / "all")]) == 0
    assert len(store.run_ids(tmp_path / "all")) == 1
    assert "1 run already there" in capsys.readouterr().out


def test_a_run_that_went_on_is_continued(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a", "identity", "tvm")
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / path.name).write_bytes(path.read_bytes()[:-50])
    assert main(["merge", str(tmp_path / "a"), "-o", str(tmp_path / "all")]) == 0
    assert store.read(tmp_path / "all") == store.read(tmp_path / "a")
    assert "1 run continued" in capsys.readouterr().out


def test_a_conflict_is_shown_and_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "a", "identity", "tvm")
    other = tmp_path / "all" / path.name
    other.parent.mkdir()
    other.write_bytes(path.read_bytes().replace(b"tvm", b"xla"))
    kept = other.read_bytes()
    assert main(["merge", str(tmp_path / "a"), "-o", str(tmp_path / "all")]) == 1
    assert other.read_bytes() == kept
    assert f"conflict: run {path.stem}: " in (printed := capsys.readouterr().out)
    assert "differ from line 3 on" in printed


def test_a_newer_run_is_left_out_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "new.jsonl").write_text('{"schema": 99, "run": "new", "environment": {}}\n')
    assert main(["merge", str(tmp_path / "a"), "-o", str(tmp_path / "all")]) == 1
    assert "left out: run new: run new was written with schema 99" in capsys.readouterr().out


def test_runs_of_which_summaries_are_left_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights.write(tmp_path / "thinned", {nights.CASE: [1.0, 1.01, 1.02]})
    assert len(prune(tmp_path / "thinned", 1.0, thin=True).thinned) == 3
    written(tmp_path / "plain", "identity")
    assert main(["merge", str(tmp_path / "plain"), str(tmp_path / "thinned"), "-o", str(tmp_path / "all")]) == 0
    assert "1 run added" in (printed := capsys.readouterr().out)
    assert "3 thinned or imported runs added" in printed
    assert main(["history", f"--store={tmp_path / 'all'}"]) == 0
    assert "in 1 series of up to 3 nights" in capsys.readouterr().out


def test_nothing_is_copied_if_one_store_has_nothing(tmp_path: Path) -> None:
    written(tmp_path / "plain", "identity")
    (tmp_path / "empty").mkdir()
    assert main(["merge", str(tmp_path / "plain"), str(tmp_path / "empty"), "-o", str(tmp_path / "all")]) == 2
    assert not (tmp_path / "all").exists()


def test_a_store_without_runs_is_a_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["merge", str(tmp_path), "-o", str(tmp_path / "all")]) == 2
    assert "has no runs" in capsys.readouterr().err
