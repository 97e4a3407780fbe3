"""What `--ngraph-dry-run` lists."""

from __future__ import annotations

import os

import pytest
from repository import Repository


def test_what_would_be_sent_is_listed_and_nothing_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_a(): raise AssertionError")
    pytester.makefile(".txt", notes="x" * 1500)
    pytester.path.joinpath(".env").write_text("TOKEN=x")
    ran = pytester.runpytest("--ngraph-dry-run", "--ngraph-send=*.py", "--ngraph-send=.env*")
    assert ran.ret == 0
    ran.stdout.fnmatch_lines(["* test_what_would_be_sent*.py", "    not sent  .env: its name", "* 1 file, *digest *"])
    ran.stdout.no_fnmatch_line("*notes*")
    ran.stdout.no_fnmatch_line("*test session starts*")
    everything = pytester.runpytest("--ngraph-dry-run", "--ngraph-scheduler=tls://nowhere")
    everything.stdout.fnmatch_lines(["* 1,500  notes.txt"])


def test_a_project_that_cannot_be_sent_is_a_usage_error(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("link").symlink_to("/etc")
    ran = pytester.runpytest("--ngraph-dry-run")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines(["*the link link leads out of the project*"])


def test_the_files_of_the_base_are_listed_as_well(pytester: pytest.Pytester, repository: Repository) -> None:
    repository.write("src/nets.py", "")
    repository.write("src/.env", "TOKEN=x")
    repository.write("elsewhere.py", "")
    repository.commit("before")
    (repository.root / "src/.env").unlink()
    repository.write("src/more.py", "")
    repository.commit("now")
    os.chdir(repository.root)  # pytester goes back
    given = ["--ngraph-send=src", "--ngraph-against=main~1", f"--rootdir={repository.root}"]
    ran = pytester.runpytest("--ngraph-dry-run", *given)
    assert ran.ret == 0
    ran.stdout.fnmatch_lines([
        "* src/more.py", "* src/nets.py", f"{repository.root} would be sent to devices: 2 files, *",
        "* src/nets.py", "    not sent  src/.env: its name", "the base, main~1 at *, would be sent to devices: 1 file*",
    ])  # fmt: skip
    ran.stdout.no_fnmatch_line("*elsewhere*")
