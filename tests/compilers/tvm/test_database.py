"""Where trials are kept, and what a killed search leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.artifact import Artifact
from pytest_ngraph.case import Case
from pytest_ngraph.compilers.tvm import database


def artifact(batch_size: int = 1, digest: str = "0" * 64) -> Artifact:
    case = Case(workload="conv", compiler="tvm", batch_size=batch_size)
    return Artifact(folder=Path(), case=case, digest=digest)


def test_there_is_one_for_each_artifact_batch_size_and_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folders = [
        database.folder(artifact(), "llvm -num-cores=2"),
        database.folder(artifact(), "llvm -num-cores=4"),
        database.folder(artifact(batch_size=8), "llvm -num-cores=2"),
        database.folder(artifact(digest="1" * 64), "llvm -num-cores=2"),
    ]
    assert len(set(folders)) == 4
    assert folders[0] == database.folder(artifact(), "llvm -num-cores=2")
    assert all(folder.is_relative_to(tmp_path) for folder in folders)


@pytest.mark.parametrize(("content", "kept"), [("a\nb\n", "a\nb\n"), ("a\nb", "a\n"), ("a", ""), ("", "")])
def test_a_line_that_a_killed_search_did_not_finish_is_dropped(tmp_path: Path, content: str, kept: str) -> None:
    path = tmp_path / "records.json"
    path.write_text(content)
    database.drop_unfinished_line(path)
    assert path.read_text() == kept


def test_a_missing_file_stays_missing(tmp_path: Path) -> None:
    database.drop_unfinished_line(tmp_path / "records.json")
    assert not list(tmp_path.iterdir())
