"""A test file that was moved after the good commit, and is named by where it is now."""

from __future__ import annotations

import json

import pytest
from repository import Repository

from pytest_ngraph.cli import main


@pytest.fixture
def moved(weighed: Repository) -> str:
    """The tests were moved after the commit that made a case slower. Return that commit."""
    weighed.write("plain_a.txt", "100")
    weighed.write("plain_b.txt", "100")
    weighed.commit("begin")
    weighed.git("tag", "v1")
    weighed.write("plain_a.txt", "130")
    slower = weighed.commit("Make it slower")
    weighed.git("mv", "test_it.py", "test_moved.py")
    weighed.commit("Move the tests")
    return slower


def test_the_commit_before_the_move_is_named(moved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is named by itself, and in a node id: pytest refuses either where it does not lie."""
    chosen = ["test_moved.py", "test_moved.py::test_it", "-k", "plain_a"]
    assert main(["bisect", "v1", "--case=plain_a", "--json", "--", *chosen]) == 0
    shown, steps = capsys.readouterr()
    (culprit,) = json.loads(shown)["culprits"]
    assert culprit["commit"] == moved
    assert "not testable" not in steps


def test_a_test_that_an_earlier_commit_does_not_have_leaves_the_others(
    moved: str, weighed: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with a test that was split, whose file is new, or whose file cannot be imported.

    Pytest refuses a name that is missing, and stops where a file cannot be imported.
    """
    test = (weighed.root / "test_moved.py").read_text()
    weighed.write("test_moved.py", test.replace("def test_it", "def test_renamed"))
    weighed.write("test_new.py", test.replace("plain_a", "plain_b"))
    weighed.write("test_broken.py", "import nothing_of_this_name\n")
    weighed.commit("Rename the test, and add others")
    chosen = ["test_moved.py::test_renamed", "test_new.py", "test_broken.py"]
    assert main(["bisect", "v1", "--case=plain_a", "--json", "--", *chosen]) == 0
    (culprit,) = json.loads(capsys.readouterr().out)["culprits"]
    assert culprit["commit"] == moved
