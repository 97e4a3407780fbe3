"""Numbers, lists and paths in words."""

from __future__ import annotations

from pathlib import Path

from pytest_ngraph.wording import counted, listed, seen_from


def test_one_and_many() -> None:
    assert [counted(count, "case") for count in (0, 1, 2, 2000)] == ["0 cases", "1 case", "2 cases", "2,000 cases"]
    assert [counted(count, "launch", "launches") for count in (1, 3)] == ["1 launch", "3 launches"]


def test_paths_are_relative_where_they_lie_below() -> None:
    here = Path("/project")
    assert seen_from(here, here / "report" / "index.html") == "report/index.html"
    assert seen_from(here, Path("/elsewhere")) == "/elsewhere"


def test_of_many_names_the_first_are_listed() -> None:
    assert [listed(["a", "b"], 3), listed(["a", "b", "c"], 3), listed([], 3)] == ["a, b", "a, b, c", ""]
    assert listed([*"abcde"], 3) == "a, b, c and 2 more"
