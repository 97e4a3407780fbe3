"""Another interpreter as the base: what it is asked, and the message when it cannot be one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from pytest_ngraph.against.interpreter import FromInterpreter
from pytest_ngraph.case import Case
from pytest_ngraph.errors import UsageError
from pytest_ngraph.system.installed import OWN, library_versions
from pytest_ngraph.system.relocation import STANDARD_LIBRARY

CASE = Case(workload="nets:network", compiler="torchscript", batch_size=2)


def test_it_has_the_heads_cases_and_the_projects_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [tmp_path, str(tmp_path), *sys.path])
    python = another(tmp_path, library_versions())
    found = FromInterpreter(python, tmp_path).open([("test_it.py::test", CASE)])
    assert found.bases == {CASE: CASE}
    assert found.home.python == python
    assert found.home.path == [str(tmp_path), STANDARD_LIBRARY, str(tmp_path / "src")]


def test_it_is_the_same_one_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers start in a worktree, and launches in the folder that serves. It is shown as the user wrote it."""
    (tmp_path / "old").mkdir()
    expected = another(tmp_path / "old", library_versions())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "old", prepend=os.pathsep)
    for python in ("old/python", "python"):
        origin = FromInterpreter(python, tmp_path)
        assert origin.open([]).home.python == expected
        assert origin.name == python


def test_its_identity_changes_with_its_libraries(tmp_path: Path) -> None:
    python = another(tmp_path, {"torch": "0.1", OWN: library_versions()[OWN]})
    before = FromInterpreter(python, tmp_path).identity
    assert FromInterpreter(python, tmp_path).identity == before
    another(tmp_path, {"torch": "0.2", OWN: library_versions()[OWN]})
    assert FromInterpreter(python, tmp_path).identity != before


def test_the_description_shows_what_differs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    python = another(tmp_path, library_versions())
    assert "the same libraries" in FromInterpreter(python, tmp_path).description
    versions = {"torch": "0.1", OWN: library_versions()[OWN]}
    monkeypatch.setattr("pytest_ngraph.against.interpreter.library_versions", lambda: versions)
    assert "-> 0.1" in FromInterpreter(python, tmp_path).description


def printing(folder: Path, *lines: str) -> str:
    """Make an interpreter that prints these lines, whatever it is asked."""
    path = folder / "python"
    path.write_text("\n".join(["#!/bin/sh", *(f"echo '{line}'" for line in lines)]))
    path.chmod(0o755)
    return str(path)


def another(folder: Path, libraries: dict[str, str]) -> str:
    """Make the interpreter of another environment, which has these libraries."""
    return printing(folder, "welcome", json.dumps(["/another/site-packages", libraries]))


def test_what_an_environment_prints_of_its_own_is_no_answer(tmp_path: Path) -> None:
    assert FromInterpreter(another(tmp_path, library_versions()), tmp_path).name.endswith("/python")


def test_another_version_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"has pytest-ngraph 0\.0\.1, but this environment has .* Install the same there: "
    ):
        FromInterpreter(another(tmp_path, {OWN: "0.0.1"}), tmp_path)


def test_no_interpreter_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere/python cannot be run .*Give the path of a Python interpreter"):
        FromInterpreter("nowhere/python", tmp_path)


def test_one_without_pytest_ngraph_shows_how_to_install_it(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')  # without any site-packages
    bare.chmod(0o755)
    with pytest.raises(UsageError, match="python -m pip install pytest-ngraph"):
        FromInterpreter(str(bare), tmp_path)


@pytest.mark.parametrize("answer", [[], ["no answer"], ["1"], ["[]"]])
def test_what_does_not_answer_is_no_interpreter(tmp_path: Path, answer: list[str]) -> None:
    with pytest.raises(UsageError, match=r"like a Python interpreter \(no reason given\)\. Give the path of"):
        FromInterpreter(printing(tmp_path, *answer), tmp_path)


def test_a_module_of_the_users_is_not_the_standard_librarys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit('mine')\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="nothing would differ"):
        FromInterpreter(sys.executable, tmp_path)


def test_this_environment_is_refused_by_whatever_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable = Path(sys.executable)
    monkeypatch.setenv("PATH", str(executable.parent), prepend=os.pathsep)
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec "{executable}" "$@"\n')
    wrapper.chmod(0o755)
    for name in (executable, executable.parent / "python3", executable.name, wrapper):
        with pytest.raises(UsageError, match="belongs to the environment that runs pytest: nothing would differ"):
            FromInterpreter(str(name), tmp_path)
