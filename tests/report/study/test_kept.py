"""Rows of long runs, kept for the next report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from synthetic import case, failed, noisy

from pytest_ngraph import store
from pytest_ngraph.costs import Costs, ServingLaunch
from pytest_ngraph.load import Load, Rate
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import kept
from pytest_ngraph.report.study.data import Study
from pytest_ngraph.store import SCHEMA, Outline
from pytest_ngraph.store.outline import forget, rows_path

RUN = "20260101-000000-1"
UNDER_LOAD = Load(limit_s=0.02, call_s=0.004, rates=(Rate(per_s=50.0, seconds=(0.005, 0.0061), calls=2, shows=80.0),))
A_LAUNCH = ServingLaunch(cold_start_s=0.5, serving_import_s=0.2, serving_load_s=0.2, serving_first_call_s=0.1)
RECORDS = [
    noisy(case("identity", 1), 0.01, rounds=8, follows_from={"graph": "g", "machine": "m"}),
    noisy(case("tvm", 1), 0.004, rounds=8, calls=(0.004, 0.0041), compile_s=3.0, profile={"problem": "no profiler"}),
    noisy(case("tvm", 4), 0.02, rounds=7, serving=Costs(launches=(A_LAUNCH,), artifact_bytes=5), load=UNDER_LOAD),
    failed(case("openvino", 1)),
]


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH_KEEPING", 1)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / f"{RUN}.jsonl"
    path.write_text(json.dumps({"schema": SCHEMA, "run": RUN, "environment": {}}) + "\n")
    for record in RECORDS:
        add(path, record)
    return path


def add(journal: Path, record: Record) -> None:
    with journal.open("a") as file:
        file.write(json.dumps(record.to_dict()) + "\n")


def reported(journal: Path) -> Study:
    return Study.of([store.outlined(journal.parent, RUN)])


def assert_same(one: Study, other: Study) -> None:
    for name in ("records", "cases", "metrics", "inversions", "loads"):
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert (one.profiles, one.unprofiled, one.between) == (other.profiles, other.unprofiled, other.between)


def test_the_next_report_reads_no_records(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reported(journal)
    monkeypatch.setattr(Outline, "records", lambda self: pytest.fail("the records were read again"))
    assert_same(reported(journal), first)
    assert_same(first, Study.of([store.read(journal.parent, RUN)]))


def test_a_journal_that_has_grown_is_read_again(journal: Path) -> None:
    reported(journal)
    add(journal, noisy(case("identity", 4), 0.03, rounds=8))
    assert reported(journal).cases.height == len(RECORDS) + 1


def test_a_journal_that_was_changed_in_place_is_read_again(journal: Path) -> None:
    reported(journal)
    text = journal.read_text()
    journal.write_text(text.replace('"compile_s": 3.0', '"compile_s": 4.0'))
    os.utime(journal, ns=(1, 1))
    assert reported(journal).cases["compile_s"].to_list() == [None, 4.0, None, None]


def test_rows_of_other_code_are_made_again(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reported(journal)
    outline = store.outlined(journal.parent, RUN)
    assert kept.load(outline) is not None
    monkeypatch.setattr(kept, "_code", lambda: "of another version")
    assert kept.load(outline) is None


@pytest.mark.parametrize("damage", [b"", b"PAR1", None], ids=["empty", "cut", "another-table"])
def test_damaged_rows_are_made_again(journal: Path, damage: bytes | None) -> None:
    first = reported(journal)
    path = rows_path(journal)
    if damage is None:
        pl.DataFrame({"case": ["other"]}).write_parquet(
            path, metadata={kept.STAMP: kept.stamp(store.outlined(journal.parent, RUN))}
        )
    else:
        path.write_bytes(damage)
    assert_same(reported(journal), first)
    assert kept.load(store.outlined(journal.parent, RUN)) is not None


def test_a_store_that_cannot_be_written_to_is_reported_all_the_same(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (journal.parent / "outlines").write_text("a file where the folder would be")
    assert reported(journal).cases.height == len(RECORDS)


def test_a_short_run_is_not_kept(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH_KEEPING", len(RECORDS) + 1)
    reported(journal)
    assert not rows_path(journal).exists()


def test_what_follows_from_a_journal_is_forgotten_with_it(journal: Path) -> None:
    reported(journal)
    assert rows_path(journal).exists()
    forget(journal)
    assert not list(rows_path(journal).parent.iterdir())
