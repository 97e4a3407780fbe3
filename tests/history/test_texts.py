"""A history in lines and as JSON-ready data."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import browsing
import numpy as np
import pytest
from nights import row

from pytest_ngraph.history import page, texts
from pytest_ngraph.history.chain import chained
from pytest_ngraph.history.index import Index
from pytest_ngraph.history.levels import Chain
from pytest_ngraph.history.row import Row
from pytest_ngraph.history.series import Found, Series
from pytest_ngraph.history.steps import Step
from pytest_ngraph.stats import Estimate


def series_of(*rows: Row) -> Series:
    """Return the series of these nights beside anchors, without its steps."""
    found = chained(rows)
    return Series(case_id="case", parts={}, unit="ratio", rows=found.rows, chain=found.chain, links=found.links)


def on_page(found: Series, folder: Path, zone: str = "UTC") -> str:
    """Return what the page says of this series when it is opened, to a reader in this time zone."""
    with Index(folder) as index:
        file = page.write([found], index, folder)
    with browsing.browser() as browser:
        tab = browser.new_page(timezone_id=zone)
        tab.goto(f"{file.as_uri()}#case")
        tab.locator(".open").wait_for()
        return str(tab.locator("#cases").text_content())  # `inner_text` was once empty on a busy machine


def test_an_anchor_is_compared_with_the_one_that_it_is_linked_to(tmp_path: Path) -> None:
    links = [row(0, 0.0), row(1, 0.02, head="b"), row(2, 0.05, head="c")]  # c beside a, but never beside b
    found = series_of(*links, row(3, 0.0, anchor="b"), row(4, 0.0, anchor="c"))
    first, *others = texts.anchors(found)
    assert first == {"name": "a", "start": 0, "beside": None, "ratio": None, "error": None}
    assert [(each["name"], each["beside"], each["start"]) for each in others] == [("b", "a", 3), ("c", "a", 4)]
    assert [each["ratio"] for each in others] == pytest.approx([1.0202, 1.0513], abs=1e-4)
    assert "c since 1970-01-01 (5.1 % slower than a)" in on_page(found, tmp_path)


def test_the_ratio_of_anchors_that_were_never_compared_is_unknown(tmp_path: Path) -> None:
    found = series_of(*(row(night, 0.0) for night in range(4)), *(row(night, 0.4, anchor="b") for night in range(4, 8)))
    _, other = texts.anchors(found)
    assert other == {"name": "b", "start": 4, "beside": "a", "ratio": None, "error": None}
    (data,) = texts.as_data([found])
    assert data["anchors"][1] == other
    linked = series_of(row(0, 0.0), row(1, 0.02, head="b"), row(2, 0.0, anchor="b"))
    *_, last = texts.in_lines([linked, found])
    assert last == "1 series with anchors never compared: no step is looked for across these"
    assert len(list(texts.in_lines([linked]))) == 1
    assert "b since 1970-01-01 (its ratio to a is unknown)" in on_page(found, tmp_path)


def step_between(good: str, bad: str) -> Found:
    """Return a step from night 1 on, between these commits."""
    step = Step(place=1, earliest=1, latest=1, change=Estimate(0.1, 0.08, 0.12), p=1e-6)
    return Found(step=step, good=good, bad=bad, when=1.0, libraries=(), machine=())


def test_imported_results_have_no_command_to_bisect(tmp_path: Path) -> None:
    """No test of pytest-ngraph's has their names."""
    good, bad = "1" * 40, "2" * 40
    imported = Series(
        case_id="case",
        parts={"device": "lab"},
        unit="seconds",
        rows=(row(0, 0.0, head=good), row(1, 0.0, head=bad)),
        chain=Chain(np.zeros(2), None),
        steps=(step_between(good, bad),),
    )
    assert "bisect" not in "".join(texts.in_lines([imported]))
    (data,) = texts.as_data([imported])
    assert data["steps"][0]["bisect"] == ""
    shown = on_page(imported, tmp_path)
    assert "between 1111111111 and 2222222222" in shown
    assert "bisect" not in shown
    beside = dataclasses.replace(imported, unit="ratio")
    assert "bisect 111111111111 222222222222" in "".join(texts.in_lines([beside]))


@pytest.mark.parametrize(
    ("good", "bad", "said"),
    [
        ("1234567", "4567", ["  between 1234567 and 4567"]),
        ("4567", "4567", ["  at the same commit, 4567"]),
        ("4567", "4567+", ["  between 4567 and 4567+ with uncommitted changes"]),
        ("", "4567", ["  up to 4567; the commit before is not known"]),
        ("1234567", "", ["  after 1234567; the commit after is not known"]),
        ("", "", []),
    ],
)
def test_only_one_commit_on_both_sides_is_the_same(good: str, bad: str, said: list[str]) -> None:
    nights = (row(0, 0.0), row(1, 0.0))
    found = dataclasses.replace(series_of(*nights), steps=(step_between(good, bad),))
    _, *lines, _ = texts.in_lines([found])
    assert [line for line in lines if not line.startswith("  pytest-ngraph bisect")] == said


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Move this machine to Tokyo."""
    with monkeypatch.context() as away:
        away.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_lines_and_page_name_the_day_of_the_machine(tmp_path: Path) -> None:
    """A night that began at 17:30 UTC, which is the next day in Tokyo."""
    began = datetime(2026, 3, 4, 17, 30, tzinfo=timezone.utc).timestamp()
    nights = (row(0, 0.0), row(1, 0.1)._replace(started_at=began))
    step = dataclasses.replace(step_between("1" * 40, "2" * 40), when=began)
    found = dataclasses.replace(series_of(*nights), steps=(step,))
    shown = on_page(found, tmp_path, zone="America/New_York")
    line, *_ = texts.in_lines([found])
    assert line.endswith("since 2026-03-05")
    assert shown.count("since 2026-03-05") == 2
    assert "2026-03-04" not in shown
