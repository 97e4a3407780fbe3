"""`--ngraph-precompile`, in runs of pytest: what is compiled ahead, and where nothing can be."""

from __future__ import annotations

import pytest


def run(project: pytest.Pytester, *arguments: str) -> str:
    # In this process: what is timed is of no interest here.
    options = ("--compiler=mine:Exact", "--ngraph-cache=cache", "--ngraph-precompile=2", *arguments)
    return str(project.runpytest_inprocess(*options).stdout)


def test_cases_are_compiled_ahead_unless_their_seconds_are_needed(quick_project: pytest.Pytester) -> None:
    shown = run(quick_project)
    assert "2 cases compiled ahead in " in shown
    assert "2 passed" in shown

    shown = run(quick_project, "--ngraph-resume")  # a finished run: there is nothing to resume
    assert "compiled ahead in" not in shown

    shown = run(quick_project, "--ngraph-fail-on=compile_s>1000")
    assert "Nothing was compiled ahead: a threshold needs the seconds to compile, which are true only where" in shown
    assert "2 passed" in shown
    assert "absent" not in shown  # the seconds are known

    newest = max((quick_project.path / ".ngraph").glob("*.jsonl"))
    newest.write_text("".join(newest.read_text().splitlines(keepends=True)[:-2]))  # it died before the last record
    shown = run(quick_project, "--ngraph-resume")
    assert "Nothing was compiled ahead: a resumed run compiles each case by itself" in shown


def test_what_cannot_be_is_refused(quick_project: pytest.Pytester) -> None:
    for options, message in (
        (["--ngraph-precompile=0"], "--ngraph-precompile=0: '0' is not a whole number from 1 up."),
        (
            ["--ngraph-precompile=2", "--ngraph-cache=off"],
            "--ngraph-precompile=2 fills the folder of compiled artifacts, and --ngraph-cache=off has none. Leave one "
            "of them out.",
        ),
    ):
        result = quick_project.runpytest_inprocess(*options)
        result.stderr.fnmatch_lines([f"ERROR: {message}"])
