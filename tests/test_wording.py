"""Numbers in words."""

from __future__ import annotations

from pytest_ngraph.wording import counted


def test_one_and_many() -> None:
    assert [counted(count, "case") for count in (0, 1, 2, 2000)] == ["0 cases", "1 case", "2 cases", "2,000 cases"]
    assert [counted(count, "launch", "launches") for count in (1, 3)] == ["1 launch", "3 launches"]
