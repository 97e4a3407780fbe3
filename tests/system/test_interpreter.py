"""Asking another interpreter: what it answers, and the messages where it does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_ngraph.errors import UsageError
from pytest_ngraph.system import interpreter
from pytest_ngraph.system.interpreter import Answer, ask


def script(folder: Path, *lines: str) -> str:
    """Make an interpreter that runs these lines of shell, whatever it is asked."""
    path = folder / "python"
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return str(path)


def test_the_last_line_is_the_answer() -> None:
    asked = "import json, sys; print('welcome'); print(json.dumps({'major': sys.version_info[0]}))"
    assert ask(sys.executable, asked, "--python") == Answer({"major": 3}, "no reason given")


def test_a_script_that_fails_has_no_answer_but_a_reason() -> None:
    assert ask(sys.executable, "print(1); import no_such_module", "--python") == Answer(
        None, "ModuleNotFoundError: No module named 'no_such_module'"
    )


def test_what_does_not_exist_is_named_with_the_next_step() -> None:
    with pytest.raises(UsageError, match=r"^--python=nowhere/python cannot be run \(.*\)\. Give the path of a Python"):
        ask("nowhere/python", "", "--python")


def test_one_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the time, and not the script."""
    monkeypatch.setattr(interpreter, "TIMEOUT_S", 0.2)
    with pytest.raises(UsageError, match=r"cannot be run \(no answer within 0\.2 s\)\. Give the path"):
        ask(script(tmp_path, "exec sleep 60"), "a script", "--python")


def test_a_line_that_is_no_json_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--python=.* does not answer like a Python interpreter \(not I\)\. Give"):
        ask(script(tmp_path, "echo not I >&2", "echo hello"), "", "--python")
