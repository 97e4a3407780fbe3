"""Rows of long runs, kept for the next report."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal
from synthetic import case, failed, noisy

from pytest_ngraph import store
from pytest_ngraph.costs import Costs, ServingLaunch
from pytest_ngraph.errors import StoreError
from pytest_ngraph.load import Load, Rate
from pytest_ngraph.record import Record
from pytest_ngraph.report.study import keep_rows, kept
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
    monkeypatch.setattr(kept, "WORTH_KEEPING_ONCE_READ", 1)


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


def raw(study: Study) -> pl.DataFrame:
    """Return the rounds of all records."""
    return pl.concat(study.rounds.frames(3))


def parts(journal: Path) -> list[Path]:
    """Return the files of the rows that are kept."""
    return sorted(rows_path(journal).glob("*.parquet"))


def assert_same(one: Study, other: Study) -> None:
    for name in ("records", "cases", "metrics", "inversions", "loads"):
        assert_frame_equal(getattr(one, name), getattr(other, name))
    assert_frame_equal(raw(one), raw(other))
    assert_series_equal(one.deviations, other.deviations, check_names=False)
    assert (one.profiles, one.unprofiled, one.between) == (other.profiles, other.unprofiled, other.between)


def test_the_next_report_reads_no_records(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reported(journal)
    monkeypatch.setattr(Outline, "records", lambda self, begin=0: pytest.fail("the records were read again"))
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
    assert len([*kept.parts(journal)]) == 1
    monkeypatch.setattr(kept, "_code", lambda: "of another version")
    assert not [*kept.parts(journal)]


@pytest.mark.parametrize("damage", [b"", b"PAR1", None], ids=["empty", "cut", "another-table"])
def test_damaged_rows_are_made_again(journal: Path, damage: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = reported(journal)
    (path,) = parts(journal)
    if damage is None:
        metadata = {key: text for key, text in pl.read_parquet_metadata(path).items() if key != "ARROW:schema"}
        pl.DataFrame({"case": ["other"]}).write_parquet(path, metadata=metadata)
    else:
        path.write_bytes(damage)
    assert_same(reported(journal), first)
    monkeypatch.setattr(Outline, "records", lambda self, begin=0: pytest.fail("the records were read again"))
    assert_same(reported(journal), first)


def test_a_store_that_cannot_be_written_to_is_reported_all_the_same(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (journal.parent / "outlines").write_text("a file where the folder would be")
    assert reported(journal).cases.height == len(RECORDS)


def test_a_short_run_is_not_kept(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "WORTH_KEEPING_ONCE_READ", len(RECORDS) + 1)
    reported(journal)
    assert not rows_path(journal).exists()


def test_a_report_keeps_the_rows_of_runs_that_are_too_short_for_their_sessions(
    journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of years has thousands of such runs, which each report would read again."""
    first = reported(journal)
    monkeypatch.setattr(Outline, "records", None)
    assert reported(journal).cases.equals(first.cases)


def test_what_follows_from_a_journal_is_forgotten_with_it(journal: Path) -> None:
    reported(journal)
    assert parts(journal)
    forget(journal)
    assert not list(rows_path(journal).parent.iterdir())


def test_a_session_keeps_rows_that_a_report_then_reads(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "AT_ONCE", 3)
    for number in range(4):  # a session adds to its last part until that is full
        kept.keep(journal)
        add(journal, noisy(case("identity", 8 << number), 0.03, rounds=8))
    kept.keep(journal)
    assert [each.count for each in kept.parts(journal)] == [3, 3, 2]
    whole = Study.of([store.read(journal.parent, RUN)])
    monkeypatch.setattr(Outline, "records", lambda self, begin=0: pytest.fail("the records were read again"))
    assert_same(reported(journal), whole)


def test_of_a_case_recorded_again_the_later_row_counts(journal: Path) -> None:
    kept.keep(journal)
    add(journal, noisy(case("tvm", 1), 0.005, rounds=8))
    kept.keep(journal)
    (part,) = kept.parts(journal)
    assert part.count == len(RECORDS) + 1
    assert_same(reported(journal), Study.of([store.read(journal.parent, RUN)]))


def test_rounds_of_a_file_to_which_rows_were_added_are_still_read(journal: Path) -> None:
    kept.keep(journal)
    study = reported(journal)
    before = raw(study)
    add(journal, noisy(case("tvm", 16), 0.005, rounds=8))
    kept.keep(journal)
    assert_frame_equal(raw(study), before)


def test_rounds_of_a_file_that_was_replaced_are_an_error(journal: Path) -> None:
    reported(journal)
    study = reported(journal)
    forget(journal)
    with pytest.raises(StoreError, match="was changed while it was read"):
        raw(study)


def test_a_session_goes_on_where_rows_cannot_be_kept(journal: Path) -> None:
    rows_path(journal).parent.mkdir()
    rows_path(journal).write_text("a file where the folder would be")
    keep_rows(journal)
    assert reported(journal).cases.height == len(RECORDS)


def test_rows_that_an_earlier_version_kept_are_removed(journal: Path) -> None:
    earlier = rows_path(journal).with_suffix(".parquet")
    earlier.parent.mkdir()
    earlier.touch()
    reported(journal)
    assert not earlier.exists()
    earlier.touch()
    forget(journal)
    assert not earlier.exists()
