"""Another interpreter as the base: what it is asked, and what is said when it cannot be one."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_ngraph.against.interpreter import OWN, FromInterpreter
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.machine import library_versions

CASE = Case(workload="nets:network", compiler="torchscript", batch_size=2)


def test_it_has_the_heads_cases_and_the_projects_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    python = alias(tmp_path)
    found = FromInterpreter(python, tmp_path).open([("test_it.py::test", CASE)])
    assert found.bases == {CASE: CASE}
    assert found.home.python == python
    assert found.home.path == [str(tmp_path)]


def test_the_description_tells_what_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = alias(tmp_path)
    assert "the same libraries" in FromInterpreter(python, tmp_path).description
    versions = {"torch": "0.1", OWN: library_versions()[OWN]}
    monkeypatch.setattr("pytest_ngraph.against.interpreter.library_versions", lambda: versions)
    assert "-> 0.1" in FromInterpreter(python, tmp_path).description


def alias(folder: Path) -> str:
    """This environment by another name."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def telling(folder: Path, *lines: str) -> str:
    """An interpreter that prints these lines, whatever it is asked."""
    path = folder / "python"
    path.write_text("\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines)]))
    path.chmod(0o755)
    return str(path)


def test_what_an_environment_prints_of_its_own_is_no_answer(tmp_path: Path) -> None:
    versions = json.dumps({OWN: library_versions()[OWN]})
    assert FromInterpreter(telling(tmp_path, "welcome", versions), tmp_path).name.endswith("/python")


def test_another_version_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has pytest-ngraph 0\.0\.1, and here is .* Install the same there: "):
        FromInterpreter(telling(tmp_path, json.dumps({OWN: "0.0.1"})), tmp_path)


def test_no_interpreter_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere/python cannot be run .*Give the path of a Python interpreter"):
        FromInterpreter("nowhere/python", tmp_path)


def test_one_without_pytest_ngraph_is_told_how_to_get_it(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')  # without any site-packages
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="python -m pip install pytest-ngraph"):
        FromInterpreter(str(bare), tmp_path)


def test_the_interpreter_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = Path(sys.executable)
    monkeypatch.chdir(executable.parent)
    for name in (executable, f"{executable.parent}/../{executable.parent.name}/{executable.name}", executable.name):
        with pytest.raises(UsageError, match="is the interpreter that runs pytest: nothing would differ"):
            FromInterpreter(str(name), tmp_path)
