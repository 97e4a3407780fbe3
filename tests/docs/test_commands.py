"""Check that programs accept every command in the docs. `test_walkthroughs` runs those of walkthroughs."""

from __future__ import annotations

import argparse
import configparser
import contextlib
import json
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from pages import ROOT, Command, blocks, commands, split

from pytest_ngraph.cli import parser

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKED = {"pytest", "pytest-ngraph", "python", "python3", "pip", "tox"}
KNOWN = {".", ".ci/run", "cd", "cp", "git", "lint-imports", "mkdir", "mkdocs", "mypy", "ruff", "scp", "ssh", "sudo"}
"""Other programs in the docs, which no test here can run."""
WRITTEN = {"serve.py"}
"""Scripts that a command of a page writes."""
CLUSTER = "--ngraph-scheduler="
"""Option that is left out: with it, a session looks for its devices before it collects."""
COLLECT = """
import contextlib, gc, io, json, sys
import pytest
found = []
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(printed):
        status = pytest.main(["--collect-only", "--quiet", "-p", "no:cacheprovider", *words])
    found.append((int(status), printed.getvalue()))
    gc.freeze()  # pytest collects garbage at the end of each run, among all that the imported frameworks hold
json.dump(found, sys.stdout)
"""


class Accepted(Exception):
    """Raised once a tool has read its arguments."""


def _own_tests(command: Command) -> list[str]:
    """Return the tests of this suite that a command names; they are not collected again."""
    return [word for word in command.words[1:] if word.partition("/")[0] == "tests"]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> dict[Command, tuple[int, str]]:
    """Collect what each command for pytest selects in `benchmarks/`, in one process; exit status and output of each."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "benchmarks", project / "benchmarks")
    shutil.copy(ROOT / "pyproject.toml", project)
    asked = [command for command in commands("pytest") if not _own_tests(command)]
    words = [[word for word in each.words[1:] if not word.startswith(CLUSTER)] for each in asked]
    done = subprocess.run(
        [sys.executable, "-c", COLLECT],
        input=json.dumps(words),
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(asked, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("command", [each for each in commands("pytest") if not _own_tests(each)], ids=str)
def test_pytest_takes_the_options_and_finds_tests(command: Command, collected: dict[Command, tuple[int, str]]) -> None:
    status, output = collected[command]
    assert status == pytest.ExitCode.OK, output


@pytest.mark.parametrize("command", [each for each in commands("pytest") if _own_tests(each)], ids=str)
def test_what_is_named_of_this_suite_exists(command: Command, pytester: pytest.Pytester) -> None:
    own = _own_tests(command)
    assert all((ROOT / path.partition("::")[0]).exists() for path in own)
    pytester.parseconfig(*(word for word in command.words[1:] if word not in own))


@pytest.mark.parametrize("command", commands("pytest-ngraph"), ids=str)
def test_the_command_takes_its_arguments(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with _incomplete_allowed(command, capsys):
        assert parser().parse_args(command.words[1:])


@pytest.mark.parametrize("command", [*commands("python"), *commands("python3")], ids=str)
def test_python_finds_the_module_or_the_tool_takes_its_arguments(
    command: Command, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *arguments = command.words[1:]
    if first == "-m":
        assert find_spec(arguments[0])
        return
    if Path(first).name in WRITTEN:
        assert arguments in ([], ["--check"])
        return
    parse, parse_known = argparse.ArgumentParser.parse_args, argparse.ArgumentParser.parse_known_args
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", _then_end(parse))
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", _then_end(parse_known, by_argparse_too=False))
    monkeypatch.setattr(sys, "argv", [first, *arguments])
    monkeypatch.syspath_prepend((ROOT / first).parent)  # as Python does for a script
    with _incomplete_allowed(command, capsys), pytest.raises(Accepted):
        runpy.run_path(str(ROOT / first), run_name="__main__")


@pytest.mark.parametrize("command", commands("pip"), ids=str)
def test_pip_is_asked_for_extras_that_there_are(command: Command) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for word in command.words[1:]:
        if (extras := re.fullmatch(r"\.\[(.*)\]", word)) is not None:
            assert {*extras[1].split(",")} <= set(project["optional-dependencies"])
        elif word.startswith("pytest-ngraph"):
            assert Requirement(word).extras <= set(project["optional-dependencies"])


@pytest.mark.parametrize("command", commands("tox"), ids=str)
def test_tox_has_the_environment(command: Command) -> None:
    settings = configparser.ConfigParser()
    settings.read(ROOT / "tox.ini")
    listed = settings["tox"]["env_list"].split(", ")
    assert command.words[:2] == ("tox", "-e")
    assert command.words[2] in listed or f"testenv:{command.words[2]}" in settings


def test_every_other_program_is_known() -> None:
    assert {command.words[0] for command in commands() if Path(command.words[0]).name not in CHECKED} <= KNOWN


def test_a_script_is_split_as_the_shell_does() -> None:
    script = "a 'b c' && d | e > f  # g\nfor x in y; do\n  h \\\n  i; done\n"
    assert list(split(script)) == [("a", "b c"), ("d",), ("e",), ("h", "i")]


def test_shells_can_read_every_script() -> None:
    for block in blocks("sh"):
        read = subprocess.run(["sh", "-n"], input=block.text, capture_output=True, text=True, check=False)
        assert not read.stderr, block.page


def _then_end(parse: Any, *, by_argparse_too: bool = True) -> Any:
    """Return a parsing method that parses as before and then ends the tool, so that it does not do its work.

    Args:
        parse: method of `ArgumentParser` to replace.
        by_argparse_too: whether to end the tool also where arguments are given, as argparse itself gives them when it
            calls `parse_known_args`.
    """

    def parsing(self: argparse.ArgumentParser, args: Any = None, namespace: Any = None) -> Any:
        parsed = parse(self, sys.argv[1:] if args is None else args, namespace)
        if args is None or by_argparse_too:
            raise Accepted
        return parsed

    return parsing


@contextlib.contextmanager
def _incomplete_allowed(command: Command, capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Let argparse end because of arguments that a sentence leaves out, and for no other reason."""
    try:
        yield
    except SystemExit:
        error = capsys.readouterr().err
        assert "the following arguments are required" in error, error
        assert not command.whole, error
