"""`pytest-ngraph bisect` as its users see it: small repositories, real runs of the gate."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.cli import main

COMMAND = [sys.executable, "-m", "pytest_ngraph.cli"]
EXACT = ["--", "test_it.py"]


@pytest.fixture
def slower(weighed: Repository) -> list[str]:
    """Four commits after `v1`: the first does not touch the cases, the second breaks one, the third makes it slower."""
    weighed.write("plain_a.txt", "60 40")
    weighed.write("plain_b.txt", "100")
    weighed.commit("begin")
    weighed.git("tag", "v1")
    made = []
    for path, text, subject in (
        ("README", "1", "Describe it"),
        ("plain_a.txt", "one", "Break it"),
        ("plain_a.txt", "60 60", "Repair it, and make it slower"),
        ("README", "2", "Describe it better"),
    ):
        weighed.write(path, text)
        made.append(weighed.commit(subject))
    return made


def test_it_narrows_to_what_cannot_be_told_apart_also_after_a_kill(
    weighed: Repository, slower: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The commit before the slower one does not build, so that either may have made it slower."""
    begun = subprocess.Popen(
        [*COMMAND, "bisect", "v1", "--case=plain_a", *EXACT], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert begun.stderr is not None
    shown = [begun.stderr.readline() for _ in range(4)]
    assert shown[0].startswith("4 commits after ")
    assert shown[1].startswith("step 1 of about 4, is there a difference: ")
    assert shown[2].startswith("  1 slower, in ")
    os.kill(begun.pid, signal.SIGKILL)
    begun.communicate()
    assert main(["bisect", "--resume", "--json"]) == 1
    printed, steps = capsys.readouterr()
    assert "1 step answered before" in steps
    assert "step 1 " not in steps
    assert "without measuring" not in steps.splitlines()[1]
    found = json.loads(printed)
    assert not found["culprits"]
    (narrowed,) = found["ranges"]
    assert narrowed["commits"] == slower[1:3]
    assert narrowed["narrowed"] == "1 cannot be built or run"
    assert narrowed["ratio"][0] == pytest.approx(1.2, abs=0.01)
    assert found["commits"][slower[2]]["subject"] == "Repair it, and make it slower"
    assert found["commits"][slower[2]]["author"] == "A. User <user@example.org>"
    assert found["measured"] <= 2, "what was built as at another commit was not measured again"
    assert weighed.worktrees() == 1


def test_it_goes_on_from_any_folder_of_the_project(
    weighed: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paths are relative to the folder in which it was begun."""
    weighed.write("plain_a.txt", "100")
    weighed.write("plain_b.txt", "100")
    weighed.write("deep/in/README", "1")
    good = weighed.commit("begin")
    weighed.write("plain_a.txt", "120")
    slow = weighed.commit("Make it slower")
    arguments = [*COMMAND, "bisect", good, "--case=plain_a", "--", "../../test_it.py"]
    begun = subprocess.Popen(
        arguments, cwd=weighed.root / "deep/in", stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert begun.stderr is not None
    shown = [begun.stderr.readline() for _ in range(3)]
    assert shown[2].startswith("  1 slower, in ")
    os.kill(begun.pid, signal.SIGKILL)
    begun.communicate()
    monkeypatch.chdir(weighed.root)
    (weighed.root / "deep").rename(weighed.root / "elsewhere")
    refused = subprocess.run([*COMMAND, "bisect", "--resume"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    message = f"was begun in {weighed.root / 'deep/in'}, and its paths are relative to that folder, which is not there."
    assert message in refused.stderr
    (weighed.root / "elsewhere").rename(weighed.root / "deep")
    assert main(["bisect", "--resume", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [culprit["commit"] for culprit in found["culprits"]] == [slow]
    assert not found["unsure"]


def test_it_names_the_commit_that_made_a_case_faster(weighed: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    weighed.write("plain_a.txt", "100")
    weighed.write("plain_b.txt", "100")
    good = weighed.commit("begin")
    weighed.write("plain_a.txt", "80")
    weighed.commit("Make it faster")
    assert main(["bisect", good, "--improved", *EXACT]) == 0
    shown, steps = capsys.readouterr()
    assert "beside the one before it" in steps
    assert "without measuring" not in steps, "an accusation is measured, though it is the question of the first step"
    assert "A. User <user@example.org>: Make it faster made 1 case faster:" in shown
    assert "plain_a-weighing:Weighs-b1-cpu: 20.0 % faster (" in shown
    assert weighed.worktrees() == 1


def test_every_commit_has_its_own_file_where_a_variable_leads_into_the_working_tree(
    weighed: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CONFIGS", str(weighed.root / "configs"))
    weighed.write("plain_a.txt", "$CONFIGS/a.txt")
    weighed.write("configs/a.txt", "100")
    good = weighed.commit("begin")
    weighed.write("configs/a.txt", "120")
    slow = weighed.commit("Make it slower")
    weighed.write("README", "1")
    weighed.commit("Describe it")
    assert main(["bisect", good, "--case=plain_a", "--json", *EXACT]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [culprit["commit"] for culprit in found["culprits"]] == [slow]


@pytest.mark.parametrize("option", ["-n 2", "--benchmark-disable", "--benchmark-skip"])
def test_it_measures_whatever_the_ini_file_sets_for_other_runs(
    weighed: Repository, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first step, which is the only one where nothing became slower, runs as all do."""
    ini = weighed.root / "pytest.ini"
    ini.write_text(ini.read_text().replace("addopts =", f"addopts = {option}"))
    weighed.write("plain_a.txt", "100")
    weighed.write("plain_b.txt", "100")
    good = weighed.commit("begin")
    weighed.write("plain_a.txt", "80")
    weighed.commit("Make it faster")
    assert main(["bisect", good, "--case=plain_a", "--json", *EXACT]) == 1
    found = json.loads(capsys.readouterr().out)
    (answer,) = found["cases"].values()
    assert (found["steps"], found["measured"]) == (1, 1)
    assert answer["ratio"][0] == pytest.approx(0.8, abs=0.01)


def test_commits_before_the_ini_file_named_what_git_does_not_track_have_it_too(
    weighed: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    with (weighed.root / ".gitignore").open("a") as ignored:
        ignored.write("weights\n")
    weighed.write("weights/light.txt", "100")
    weighed.write("weights/heavy.txt", "120")
    weighed.write("plain_a.txt", "weights/light.txt")
    good = weighed.commit("begin")
    weighed.write("plain_a.txt", "weights/heavy.txt")
    slow = weighed.commit("Make it slower")
    with (weighed.root / "pytest.ini").open("a") as ini:
        ini.write("ngraph_untracked = weights\n")
    weighed.commit("Name the weights")
    assert main(["bisect", good, "--case=plain_a", "--json", *EXACT]) == 0
    assert [culprit["commit"] for culprit in json.loads(capsys.readouterr().out)["culprits"]] == [slow]


def test_a_mistake_is_one_message(weighed: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    weighed.write("plain_a.txt", "1")
    first = weighed.commit("begin")
    weighed.git("checkout", "--quiet", "-b", "aside")
    aside = weighed.commit("aside")
    weighed.git("checkout", "--quiet", "main")
    head = weighed.commit("on main")
    for arguments, message in (
        ([], "nothing to bisect. Give the good revision"),
        (["mian"], "no revision 'mian' in "),
        ([head], f"{head} and HEAD are the same commit"),
        ([head, first], f"{head} is not an ancestor of {first}. It is the other way round"),
        ([aside], f"{aside} is not an ancestor of HEAD. They have both come from {first[:7]}"),
        ([first, "--", "--ngraph-level=5%"], "--ngraph-level=5%: a bisection sets this itself"),
        (["--python=python"], "--python and --against-python belong together"),
        (["--python=a", "--against-python=b", first], "environments are compared with the code as it is"),
        (["--python=nowhere/python", "--against-python=b"], "--python=nowhere/python cannot be run"),
        (["--resume"], "has no bisection that was interrupted"),
        (["--resume", "--case=a"], "--resume continues what was asked before: leave out --case"),
        ([first, "--resume", "--margin=0.01", "--improved"], "leave out GOOD, --improved, --margin."),
        (["--resume", "--level=1%", "--first-parent"], "leave out --first-parent, --level."),
        (["--resume", "--find-links=wheels", "--", "test_it.py"], "leave out --find-links, pytest's arguments."),
    ):
        assert main(["bisect", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith("pytest-ngraph: ")
        assert message in error
        assert error.count("\n") == 1
    assert not list(Path(".ngraph").glob("**/*.jsonl"))


def test_what_selects_nothing_is_one_message(weighed: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    weighed.write("plain_a.txt", "1")
    first = weighed.commit("begin")
    weighed.write("plain_a.txt", "2")
    weighed.write("test_broken.py", "import nothing_of_this_name\n")
    weighed.commit("next")
    for arguments, message in (
        (["--case=resnet", *EXACT], "pytest finds no case whose id contains resnet at "),
        (["--", "test_broken.py"], "pytest cannot run at "),
    ):
        assert main(["bisect", first, *arguments]) == 2
        assert f"pytest-ngraph: {message}" in capsys.readouterr().err.splitlines()[-1]
    assert weighed.worktrees() == 1


def test_nothing_slower_is_shown(weighed: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    weighed.write("plain_a.txt", "1")
    first = weighed.commit("begin")
    weighed.write("README", "1")
    weighed.commit("next")
    assert main(["bisect", first, *EXACT]) == 1
    assert capsys.readouterr().out == "No case became slower by more than the margin.\n"
