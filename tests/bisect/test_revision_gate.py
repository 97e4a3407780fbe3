"""Answers about commits that cannot be checked out. No pytest is started."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.bisect.commits import between
from pytest_ngraph.bisect.options import Asked
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.errors import NgraphError


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A filter must succeed, as that of git-lfs, and does not where a file has the line `GONE`."""
    made = Repository.create(tmp_path / "project")
    for name, value in (("smudge", "grep -v GONE"), ("clean", "cat"), ("required", "true")):
        made.git("config", f"filter.kept.{name}", value)
    made.write("there/README", "")
    made.write(".gitattributes", "*.bin filter=kept\n")
    made.commit("begin")
    made.git("tag", "good")
    return made


def answer(made: Repository, middle: str, cases: tuple[str, ...] | None = ("case",)) -> Reply:
    """Return what is answered of the commit in the middle, in a folder that is there before and after it."""
    end = made.commit("end")
    commits = between("good", end, made.root / "there", first_parent=False)
    gate = commits.gate(Asked(good="good", bad=end), made.root)
    return gate.ask(Question(purpose="search", head=middle, base=commits.good, cases=cases, level=0.01))


def lost(made: Repository) -> str:
    """Return a commit with a file whose content the server of git-lfs has lost."""
    made.write("weights.bin", "GONE\n")
    middle = made.commit("Add weights")
    made.git("rm", "--quiet", "weights.bin")
    return middle


def test_a_commit_whose_files_are_lost_is_stepped_over(repository: Repository) -> None:
    reply = answer(repository, lost(repository))
    assert not reply.measured
    (found,) = reply.answers.values()
    assert found.found == "untestable"
    assert "cannot be checked out" in found.reason
    assert repository.worktrees() == 1


def test_a_commit_where_the_current_folder_is_a_file_is_stepped_over(repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "there")
    repository.write("there", "")
    middle = repository.commit("Make it a file")
    repository.git("rm", "--quiet", "there")
    repository.write("there/README", "")
    (found,) = answer(repository, middle).answers.values()
    assert found.found == "untestable"
    assert "the current folder, there, is a file at " in found.reason


def test_where_nothing_can_be_checked_out_the_bisection_ends(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    middle = lost(repository)
    with monkeypatch.context() as full:
        full.setattr(tempfile, "gettempdir", lambda: str(repository.root / "nowhere"))
        with pytest.raises(NgraphError, match=r"cannot be checked out: .* No such file or directory"):
            answer(repository, middle)
    with pytest.raises(NgraphError, match="cannot be checked out"):  # the ends are asked about: all cases
        answer(repository, middle, cases=None)
