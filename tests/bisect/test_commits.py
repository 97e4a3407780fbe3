"""Which commits of a repository lie between a good and a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest
from repository import Repository

from pytest_ngraph.bisect.answer import Answer
from pytest_ngraph.bisect.bisection import Bisection
from pytest_ngraph.bisect.commits import between
from pytest_ngraph.bisect.question import Question, Reply
from pytest_ngraph.stats import Estimate


class Oracle:
    """Knows how long the case takes at each commit: the tag `v1` is on a branch that holds a speedup."""

    def __init__(self, made: Repository) -> None:
        self._made = made

    def ask(self, question: Question) -> Reply:
        ratio = self._time(question.head) / self._time(question.base)
        answer = Answer(found="worse" if ratio > 1.01 else "fine", ratio=Estimate.exactly(ratio))
        return Reply({"a": answer}, 1.0, measured=True)

    def _time(self, commit: str) -> float:
        files = self._made.git("ls-tree", "--name-only", commit).splitlines()
        return (0.8 if "fast" in files else 1.0) * (1.1 if "slow" in files else 1.0)


@pytest.fixture
def forked(tmp_path: Path) -> Repository:
    made = Repository.create(tmp_path / "project")
    made.write("first", "")
    made.commit("begin")
    made.git("checkout", "--quiet", "-b", "release")
    made.write("fast", "")
    made.commit("Make it faster")
    made.git("tag", "v1")
    made.git("checkout", "--quiet", "main")
    for number in range(3):
        made.commit(f"before the merge {number}")
    made.git("merge", "--quiet", "--no-ff", "--message", "Merge the release", "release")
    for name in ("other", "slow", "last"):
        made.write(name, "")
        made.commit(f"Add {name}")
    return made


@pytest.mark.parametrize("first_parent", [False, True])
def test_a_good_commit_on_a_branch_that_was_merged_hides_no_culprit(forked: Repository, first_parent: bool) -> None:
    commits = between("v1", "main", forked.root, first_parent=first_parent)
    outcome = Bisection(commits.graph, commits.good, commits.bad, Oracle(forked)).run()
    assert [commits.commit(culprit.point).subject for culprit in outcome.culprits] == ["Add slow"]
    assert outcome.is_complete


def test_with_first_parent_only_commits_that_contain_the_good_one_are_in_question(forked: Repository) -> None:
    commits = between("v1", "main", forked.root, first_parent=True)
    subjects = [commits.commit(point).subject for point in commits.graph.order]
    assert subjects == ["Merge the release", "Add other", "Add slow", "Add last"]
    merge = next(iter(commits.graph.order))
    assert commits.graph.first_parent(merge) == commits.good
