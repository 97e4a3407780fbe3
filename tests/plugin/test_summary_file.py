"""The summary of a run, as those see it who read a pull request."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from repository import Repository

from pytest_ngraph import store
from pytest_ngraph.plugin.assembly import SESSION
from pytest_ngraph.plugin.summary_file import STEP_SUMMARY

DOCS = Path(__file__).parents[2] / "docs" / "gate-in-ci.md"
ONE = ("--compiler=mine:Exact", "--batch-size=4")
SKIPS = """
import pytest

@pytest.fixture(autouse=True)
def _only_small(ngraph_case):
    if ngraph_case.batch_size > 1:
        pytest.skip("large")
"""


@pytest.fixture(autouse=True)
def step_summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """GitHub's file, which another command of the step has written to."""
    path = tmp_path / "step"
    path.write_text("before\n")
    monkeypatch.setenv(STEP_SUMMARY, str(path))
    return path


def test_a_run_without_a_base(project: pytest.Pytester, step_summary: Path) -> None:
    result = project.runpytest(*ONE, "--ngraph-summary=gate.md")
    result.assert_outcomes(passed=1)
    page = (project.path / "gate.md").read_text()
    assert page.startswith("**1 case measured**\n")
    assert "\npytest --compiler=mine:Exact --batch-size=4 --ngraph-summary=gate.md " in page
    assert step_summary.read_text() == f"before\n{page}"
    data = json.loads((project.path / "gate.json").read_text())
    assert data["run"] == store.read(project.path / ".ngraph").id
    assert (data["bases"], data["verdicts"], data["results"][0]["outcome"]) == ([], [], "measured")


def test_the_command_has_the_values_of_our_options_behind_a_sign(quick_project: pytest.Pytester) -> None:
    """So that a bisection can leave the options out with their values."""
    given = ("--ngraph-summary", "gate.md", "--ngraph-fail-on", "speedup<1e-9", "--junitxml", "out.xml", "-k", "Exact")
    quick_project.runpytest(*ONE, "--ngraph-serving", *given).assert_outcomes(passed=1)
    command = shlex.split(json.loads((quick_project.path / "gate.json").read_text())["command"])
    own = ["--ngraph-serving", "--ngraph-summary=gate.md", "--ngraph-fail-on=speedup<1e-9", "--junitxml=out.xml"]
    assert command[: 3 + len(own) + 2] == ["pytest", *ONE, *own, "-k", "Exact"]


def test_a_run_without_a_base_is_no_step_summary_of_its_own_accord(
    quick_project: pytest.Pytester, step_summary: Path
) -> None:
    quick_project.runpytest(*ONE).assert_outcomes(passed=1)
    assert step_summary.read_text() == "before\n"


def test_a_base_is_enough_for_the_step_summary(project: pytest.Pytester, step_summary: Path) -> None:
    repository = Repository.create(project.path)
    repository.write(".gitignore", ".ngraph\n__pycache__\n")
    repository.commit("first")
    project.runpytest(*ONE, "--ngraph-against=main").assert_outcomes(passed=1)
    text = step_summary.read_text()
    assert re.match(r"before\n\*\*None of 1 case regressed against main at \w{7}\*\*\n", text)
    assert text.count("**") == 2, "the base's collection adds nothing"
    assert "| head | main at " in text


@pytest.mark.parametrize("option", ["--collect-only", "--benchmark-disable"])
def test_nothing_is_written_where_nothing_is_measured(
    quick_project: pytest.Pytester, step_summary: Path, option: str
) -> None:
    assert quick_project.runpytest(*ONE, "--ngraph-summary=gate.md", option).ret == 0
    assert not (quick_project.path / "gate.md").exists()
    assert step_summary.read_text() == "before\n"


def test_a_folder_that_is_missing_is_told_before_anything_is_measured(project: pytest.Pytester) -> None:
    result = project.runpytest(*ONE, "--ngraph-summary=none/gate.md")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --ngraph-summary=*none/gate.md: cannot write *: No such file or directory.*"])
    assert store.run_ids(project.path / ".ngraph") == []


def test_a_step_summary_that_cannot_be_written_loses_nothing(
    quick_project: pytest.Pytester, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STEP_SUMMARY, str(tmp_path / "none" / "step"))
    result = quick_project.runpytest(*ONE, "--ngraph-summary=gate.md")
    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["The summary could not be written to *step: No such file or directory."])
    assert (quick_project.path / "gate.md").exists()


def test_a_run_that_ends_early_names_what_it_did_not_measure(quick_project: pytest.Pytester) -> None:
    result = quick_project.runpytest("-x", "--compiler=mine:Exact,mine:Wrong", "--ngraph-summary=gate.md")
    result.assert_outcomes(failed=1, passed=1)
    page = (quick_project.path / "gate.md").read_text()
    assert page.startswith("**1 case measured; 1 failed; 2 not measured, because the run ended early**\n")
    assert page.count("the run ended before its turn") == 2


def test_what_a_fixture_skips_is_not_the_runs_end(quick_project: pytest.Pytester) -> None:
    """The run is finished: there is nothing to resume."""
    quick_project.makeconftest(SKIPS)
    result = quick_project.runpytest("--compiler=mine:Exact", "--ngraph-summary=gate.md")
    result.assert_outcomes(passed=1, skipped=1)
    page = (quick_project.path / "gate.md").read_text()
    assert page.startswith("**1 case measured; 1 not measured, because no test asked**\n")
    assert "ended" not in page
    result.stdout.fnmatch_lines(["1 of 2 cases not measured, because no test asked (skipped, or failed before)."])
    result.stdout.no_fnmatch_line("*--ngraph-resume continues it*")


def test_a_run_whose_fixtures_skip_all_cases_says_that_it_measured_nothing(quick_project: pytest.Pytester) -> None:
    quick_project.makeconftest(SKIPS.replace("> 1", "> 0"))
    result = quick_project.runpytest("--compiler=mine:Exact", "--ngraph-save=v1")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(
        [
            "Not saved as baseline v1: nothing was measured.",
            "2 of 2 cases not measured, because no test asked (skipped, or failed before).",
        ]
    )


def test_the_workflow_of_the_docs_runs(project: pytest.Pytester) -> None:
    steps = workflows()["gate"]["jobs"]["gate"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    (step,) = [step for step in steps if "pytest benchmarks/" in step.get("run", "")]
    command = step["run"].replace("$BASE", step["env"]["BASE"])
    benchmarks = project.mkdir("benchmarks")
    for name in ("mine.py", "test_it.py"):
        (project.path / name).rename(benchmarks / name)
    result = project.runpytest(*shlex.split(command)[1:], *ONE, "--collect-only")
    assert result.ret == 0
    options = project.parseconfigure(*shlex.split(command)[1:], "--collect-only").stash[SESSION].options
    assert (options.gate.against, options.gate.threads) == ("origin/${{ github.base_ref }}...", 1)
    uploaded = steps[-1]["with"]["path"].split()
    assert options.summary
    assert {options.summary.name, options.summary.with_suffix(".json").name, "gate.xml"} == set(uploaded)


def workflows() -> dict[str, Any]:
    """Return the workflows of the docs, by name."""
    yaml = pytest.importorskip("yaml")
    texts = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    return {found["name"]: found for found in map(yaml.safe_load, texts)}


GH = """
#!/bin/sh
echo "$@" >> calls
case "$*" in
*pulls*) echo 7 ;;
*PATCH*|*POST*) cp comment.md posted ;;
*comments*) cat own 2> /dev/null ;;
esac
"""


def test_the_comment_is_posted_once_and_then_edited(tmp_path: Path) -> None:
    found = workflows()
    commenting = found["gate comment"]
    started_by = commenting[True]["workflow_run"]  # YAML 1.1 reads the key `on` as true
    assert started_by["workflows"] == [found["gate"]["name"]]
    assert commenting["permissions"] == {"actions": "read", "contents": "read", "pull-requests": "write"}
    download, comment = commenting["jobs"]["comment"]["steps"]
    assert download["with"]["name"] == found["gate"]["jobs"]["gate"]["steps"][-1]["with"]["name"]
    assert "checkout" not in str(commenting), "the pull request's code never runs with these permissions"
    assert "${{" not in comment["run"], "a branch's name is never a part of the script"

    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(GH.strip())
    gh.chmod(0o755)
    mark = comment["env"]["MARK"]
    environment = {"PATH": f"{gh.parent}:{os.environ['PATH']}", "REPO": "us/nets", "HEAD": "them:wide", "SHA": "5d6"}

    def run() -> list[str]:
        subprocess.run(["bash", "-e", "-c", comment["run"]], cwd=tmp_path, env=environment | {"MARK": mark}, check=True)
        calls = tmp_path / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    assert run() == [], "nothing was uploaded"
    (tmp_path / "gate.md").write_text("**1 of 2 cases regressed**\n" + "ü" * 60000)
    first = run()
    assert first[-1].startswith("api repos/us/nets/issues/7/comments --method POST ")
    assert "head=them:wide" in first[0]
    posted = (tmp_path / "posted").read_text()
    assert posted.startswith(f"{mark}\n**1 of 2 cases regressed**\n")
    assert len(posted) < 65536
    (tmp_path / "own").write_text("41\n")
    assert run()[-1].startswith("api repos/us/nets/issues/comments/41 --method PATCH ")
