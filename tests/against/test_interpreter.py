"""Another interpreter as the base: what it is asked, and what is said when it cannot be one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_ngraph.against.interpreter import FromInterpreter
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError

CASE = Case(workload="nets:network", compiler="torchscript", batch_size=2)


def test_it_has_the_heads_cases_and_the_projects_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = FromInterpreter(sys.executable, tmp_path).open([("test_it.py::test", CASE)])
    assert found.bases == {CASE: CASE}
    assert found.home.python == sys.executable
    assert found.home.path == [str(tmp_path)]


def test_the_description_tells_what_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "the same libraries" in FromInterpreter(sys.executable, tmp_path).description
    versions = {"torch": "0.1"}
    monkeypatch.setattr("pytest_ngraph.against.interpreter.library_versions", lambda: versions)
    assert "-> 0.1" in FromInterpreter(sys.executable, tmp_path).description


def test_no_interpreter_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere/python cannot be run .*Give the path of a Python interpreter"):
        FromInterpreter("nowhere/python", tmp_path)


def test_one_without_pytest_ngraph_is_told_how_to_get_it(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')  # without any site-packages
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="python -m pip install pytest-ngraph"):
        FromInterpreter(str(bare), tmp_path)
