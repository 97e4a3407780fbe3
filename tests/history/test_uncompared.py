"""Cases that nights measure without a ratio: `pytest-ngraph history --fail` must not stay green for months."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import nights
import pytest
from synthetic import case, failed

from pytest_ngraph.case import Case
from pytest_ngraph.cli import main
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.record import Record
from pytest_ngraph.store import Journal

OTHER = case("tvm")
BROKEN = Comparison(against="v1.0", problem="the base cannot be built: No module named 'nets'", broken="raised")
NEW = Comparison(against="v1.0", new=True)


def write(store: Path, found: Mapping[Case, Comparison | None], first: int, count: int, branch: str = "main") -> None:
    """Write nights in which these cases come to no ratio; those without a comparison have failed."""
    for night in range(first, first + count):
        source = {"commit": nights.commit(night), "branch": branch, "anchor": "v1.0", "anchor commit": "a" * 40}
        journal = Journal(store, nights.ENVIRONMENT, now=partial(begun, night), source=source)
        for of, comparison in found.items():
            journal.append(dataclasses.replace(_record(of, comparison, night), run=journal.id))
        journal.end(whole=True)
        journal.close()


def _record(of: Case, comparison: Comparison | None, night: int) -> Record:
    record = nights.beside(of, 1.0, night)
    if comparison is None:
        return dataclasses.replace(failed(of), started_at=record.started_at)
    return dataclasses.replace(record, comparison=comparison)


def begun(night: float) -> datetime:
    return nights.FIRST + timedelta(days=night)


def since(night: float) -> str:
    """Return the option that asks for what is since this night."""
    age_s = time.time() - begun(night).timestamp()
    return f"--since={age_s / 86400:.3f}d"


@pytest.mark.parametrize(("count", "status"), [(6, 0), (7, 1)])
def test_a_case_without_a_ratio_for_a_week_of_nights_fails(
    tmp_path: Path, count: int, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 10, OTHER: [1.0] * 10})
    write(tmp_path, {nights.CASE: BROKEN}, 10, count)
    nights.write(tmp_path, {OTHER: [1.0] * count}, first=10)
    store = f"--store={tmp_path}"
    assert main(["history", store, "--fail"]) == status
    said = capsys.readouterr().err
    expected = (
        "1 case not compared with the anchor since 2026-01-10 (resnet18-openvino-b1-xeon): the base cannot be built: "
        "No module named 'nets'\n  A slowdown in these is not seen. Name an anchor that can be built: "
        "pytest --ngraph-history=ANCHOR\n"
    )
    assert said == (expected if status else "")
    assert main(["history", store]) == 0, "without --fail it is only said"
    assert main(["history", store, "--fail", "--case=tvm"]) == 0
    assert main(["history", store, "--fail", "--branch=main"]) == status


def test_since_asks_whether_there_was_a_ratio_in_that_time(tmp_path: Path) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 10})
    write(tmp_path, {nights.CASE: BROKEN}, 10, 2)
    store = f"--store={tmp_path}"
    assert main(["history", store, "--fail", since(9.5)]) == 1
    assert main(["history", store, "--fail", since(8.5)]) == 0, "night 9 has one"
    nights.write(tmp_path, {nights.CASE: [1.0]}, first=12)
    assert main(["history", store, "--fail", since(9.5)]) == 0, "it is compared again"


def test_a_time_without_any_night_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 10})
    store = f"--store={tmp_path}"
    assert main(["history", store, "--fail", since(9.5)]) == 1
    assert capsys.readouterr().err == "no night since 2026-01-10; the last one is of 2026-01-10\n"
    assert main(["history", store, since(9.5)]) == 0
    assert main(["history", store, "--fail", since(8.5)]) == 0


def test_a_case_that_is_no_longer_measured_fails_nothing(tmp_path: Path) -> None:
    nights.write(tmp_path, {nights.CASE: [1.0] * 3, OTHER: [1.0] * 3})
    write(tmp_path, {nights.CASE: BROKEN}, 3, 8)
    nights.write(tmp_path, {OTHER: [1.0] * 16}, first=3)
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 0
    assert main(["history", f"--store={tmp_path}", "--fail", since(12)]) == 0


def test_an_anchor_that_was_never_built_fails_from_the_first_night(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, {nights.CASE: BROKEN, OTHER: None}, 0, 2)
    store = f"--store={tmp_path}"
    assert main(["history", store, "--fail", since(-0.5)]) == 1
    shown = capsys.readouterr()
    assert "1 case not compared with the anchor yet (resnet18-openvino-b1-xeon): the base cannot be built" in shown.err
    assert "(resnet18-tvm-b1-xeon): failed in compile: RuntimeError: no such operator" in shown.err
    assert shown.out == "0 steps, in 0 series of up to 0 nights\n"
    for outputs in (["--json"], [f"--output={tmp_path / 'page'}"]):
        assert main(["history", store, *outputs]) == 0


def test_a_case_that_the_anchor_does_not_have_is_said_and_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a nightly job would fail after every new test, until a later anchor is named."""
    nights.write(tmp_path, {nights.CASE: [1.0] * 9})
    write(tmp_path, {OTHER: NEW}, 0, 9)
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 0
    assert capsys.readouterr().err == (
        "1 case newer than the anchor v1.0, so that nothing is compared with it. A later anchor has it: "
        "pytest --ngraph-history=ANCHOR\n"
    )
    write(tmp_path, {nights.CASE: NEW}, 9, 7)
    assert main(["history", f"--store={tmp_path}", "--fail"]) == 1, "it was compared before"
