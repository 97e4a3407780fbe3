from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path

import pytest

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Record, Round
from pytest_ngraph.store import Journal


@pytest.fixture
def record(a_case: Case) -> Record:
    return Record(case=a_case, outcome="measured", rounds=(Round(3, 0.1), Round(3, 1 / 3)))


def written(folder: Path, *records: Record) -> Path:
    journal = Journal(folder, {"processor": "x"})
    for record in records:
        journal.append(record)
    journal.close()
    return folder / f"{journal.id}.jsonl"


@pytest.fixture
def another(record: Record) -> Record:
    return dataclasses.replace(record, case=dataclasses.replace(record.case, compiler="openvino"))


def test_what_is_appended_is_read_back(tmp_path: Path, record: Record, another: Record) -> None:
    written(tmp_path, record, another)
    run = store.read(tmp_path)
    assert run.records == (record, another)
    assert run.environment == {"processor": "x"}
    assert run.damaged == 0


def test_a_case_counts_once_with_its_last_record(tmp_path: Path, record: Record, another: Record) -> None:
    again = dataclasses.replace(record, stable=True)
    written(tmp_path, record, another, again)
    assert store.read(tmp_path).records == (another, again)


def test_a_record_is_on_disk_before_the_journal_is_closed(tmp_path: Path, record: Record) -> None:
    Journal(tmp_path, {}).append(record)
    assert store.read(tmp_path).records == (record,)


def test_a_run_without_records_leaves_no_file(tmp_path: Path) -> None:
    Journal(tmp_path, {}).close()
    assert list(tmp_path.iterdir()) == []


def test_a_torn_tail_costs_one_record(tmp_path: Path, record: Record, another: Record) -> None:
    path = written(tmp_path, record, another)
    path.write_bytes(path.read_bytes()[:-40])
    run = store.read(tmp_path)
    assert run.records == (record,)
    assert run.damaged == 1
    assert "line 3, which was not finished" in run.dropped[0]


def test_a_line_that_is_damaged_in_the_middle_costs_itself(tmp_path: Path, record: Record, another: Record) -> None:
    path = written(tmp_path, record, another)
    header, first, rest = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join((header, first[:20] + bytes(30) + first[50:], rest)))
    run = store.read(tmp_path)
    assert run.records == (another,)
    assert run.dropped == (f"line 2: {len(first)} bytes",)


def under_load(**fields: object) -> dict[str, object]:
    rate = {"per_s": 10.0, "seconds": [0.1], "calls": 1, **fields}
    return {"load": {"limit_s": 0.1, "call_s": 0.01, "rates": [rate]}}


def served(cold_start_s: float) -> dict[str, object]:
    launch = {"serving_import_s": 0.1, "serving_load_s": 0.1, "serving_first_call_s": 0.1}
    return {"serving": {"launches": [launch | {"cold_start_s": cold_start_s}]}}


@pytest.mark.parametrize(
    "fields",
    [
        {"calls": [3e305]},
        {"calls": [0.0]},
        {"rounds": [[1, 3e305]]},
        under_load(seconds=[]),
        under_load(seconds=[math.nan]),
        under_load(shows=-1.0),
        served(math.inf),
    ],
)
def test_times_that_nothing_took_are_damage(fields: dict[str, object], tmp_path: Path, record: Record) -> None:
    run = read_with(fields, tmp_path, record)
    assert (run.records, run.damaged) == ((), 1)


@pytest.mark.parametrize("fields", [{}, under_load(), served(1.0)])
def test_times_that_something_took_are_none(fields: dict[str, object], tmp_path: Path, record: Record) -> None:
    assert read_with(fields, tmp_path, record).damaged == 0


def read_with(fields: dict[str, object], folder: Path, record: Record) -> store.Run:
    """Return the run of a record with other fields in its line."""
    path = written(folder, record)
    header, line, *rest = path.read_text().splitlines()
    path.write_text("\n".join([header, json.dumps(json.loads(line) | fields), *rest, ""]))
    return store.read(folder)


def test_the_old_schema_is_read(tmp_path: Path, record: Record) -> None:
    old = record.to_dict()
    del old["follows_from"]
    header = {"schema": 1, "run": "20250101-000000-7", "environment": {"processor": "y"}}
    (tmp_path / "20250101-000000-7.jsonl").write_text(f"{json.dumps(header)}\n{json.dumps(old)}\n")
    run = store.read(tmp_path)
    assert run.records == (record,)
    assert run.environment == {"processor": "y"}
    assert run.whole
    assert store.unfinished(tmp_path) is None


def test_a_newer_schema_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"schema": 99, "run": "r", "environment": {}}) + "\n")
    with pytest.raises(StoreError, match=r"schema 99.*Upgrade"):
        store.read(tmp_path)


def test_files_are_for_this_user_only(tmp_path: Path, record: Record) -> None:
    path = written(tmp_path / "store", record)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_a_store_stays_out_of_git(tmp_path: Path, record: Record) -> None:
    written(tmp_path, record)
    assert (tmp_path / ".gitignore").read_text() == "*\n"


def test_an_empty_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has no runs"):
        store.read(tmp_path)


def test_an_unknown_run(tmp_path: Path, record: Record) -> None:
    written(tmp_path, record)
    with pytest.raises(StoreError, match="no run 'x'"):
        store.read(tmp_path, "x")


def test_a_folder_that_cannot_be_written_is_found_early(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write to the store"):
        store.check_writable(tmp_path / "file" / "store")


def test_a_full_disk_is_a_clear_error(tmp_path: Path, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path, {})
    journal.append(record)
    monkeypatch.setattr(journal, "_file", os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(StoreError, match="No space left on device"):
        journal.append(record)


def test_why_rounds_stopped_is_read_back(tmp_path: Path, record: Record) -> None:
    """Lines of other kinds are recognized by their keys, so that no field of a record may have one of these names."""
    stopped = dataclasses.replace(record, stopped="surely slower than openvino")
    written(tmp_path, stopped)
    assert store.read(tmp_path).records == (stopped,)
    assert not {"schema", store.run.ENDED, store.run.DEVICE, store.run.STEP, "phase"} & record.to_dict().keys()
