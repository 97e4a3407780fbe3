"""The message that sets a process up in its home."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.bench.processes.home import OWN_HOME, Home, setup_of


def test_a_process_of_our_own_interpreter_gets_our_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["", "/somewhere/src"])
    monkeypatch.chdir(tmp_path)
    assert setup_of(OWN_HOME, ahead="openvino") == {
        "path": [str(tmp_path), "/somewhere/src"],
        "keep_own": False,
        "ahead": "openvino",
    }
    assert setup_of(Home(folder=Path("/worktree")))["path"] == ["/worktree", "/somewhere/src"], "the current folder"


def test_another_interpreter_keeps_its_own_path_behind_what_it_is_given() -> None:
    home = Home(python="/other/bin/python", path=["/project/src"])
    assert setup_of(home) == {"path": ["/project/src"], "keep_own": True, "ahead": ""}
