from __future__ import annotations

import errno
import fcntl
import math
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import nights
import pytest
from synthetic import case, failed, measured

from pytest_ngraph.history.index import NAME, Index
from pytest_ngraph.store import Journal, read, run

OTHER = case("tvm", batch_size=8)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    nights.write(tmp_path, {nights.CASE: [1.0, 1.01, 1.02], OTHER: [1.0, 1.0, math.nan]})
    return tmp_path


def opened(store: Path) -> Index:
    index = Index(store)
    index.update()
    return index


def test_a_record_has_a_row_with_its_ratio_and_where_it_came_from(store: Path) -> None:
    with opened(store) as index:
        row = list(index.rows(nights.CASE.id))[1]
        assert (row.run, row.outcome) == (read(store, row.run).id, "measured")
        assert (row.commit, row.branch, row.anchor, row.anchor_commit) == (nights.commit(1), "main", "v1.0", "a" * 40)
        assert row.against == "v1.0 at 1a2b3c4"
        assert row.latency is not None
        assert row.latency.value == pytest.approx(0.0101)
        assert row.ratio is not None
        assert row.ratio.low < math.log(1.01) < row.ratio.high
        assert 0 < row.ratio.error < 0.01
        assert index.facts(row.libraries) == {"python": "3.11.7", "torch": "2.14.0"}
        assert index.facts(row.machine) == {"fingerprint": "abc", "processor": "Xeon"}
        assert index.cases()[OTHER.id] == OTHER.to_dict()


def test_rows_are_found_by_case_commit_and_time(store: Path) -> None:
    with opened(store) as index:
        assert len(list(index.rows())) == 5
        assert {row.case_id for row in index.rows("*-tvm-*")} == {OTHER.id}
        assert len(list(index.rows(commit=nights.commit(2)))) == 1
        second = list(index.rows(nights.CASE.id))[1].started_at
        assert len(list(index.rows(since=second))) == 3
        assert len(list(index.rows(until=second))) == 2


def test_a_record_is_read_without_its_run(store: Path) -> None:
    with opened(store) as index:
        row = list(index.rows(OTHER.id))[1]
        (expected,) = [each for each in read(store, row.run).records if each.case == OTHER]
        assert index.record(row) == expected


def test_only_files_that_changed_are_read_again(store: Path) -> None:
    with opened(store) as index:
        assert index.changed == 3
    with opened(store) as index:
        assert index.changed == 0
    (new,) = nights.write(store, {nights.CASE: [1.03]}, first=3)
    path = store / f"{new}.jsonl"
    with opened(store) as index:
        assert index.changed == 1
        assert index.count() == 6
        path.unlink()
        index.update()
        assert index.count() == 5


def test_the_last_record_of_a_case_in_a_run_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, nights.ENVIRONMENT)
    journal.append(failed(nights.CASE))
    journal.append(measured(nights.CASE, 0.02))
    journal.close()
    with opened(tmp_path) as index:
        (row,) = index.rows()
        assert row.outcome == "measured"
        assert row.ratio is None


def test_a_name_that_is_not_utf_8_hides_no_record(tmp_path: Path) -> None:
    """As of a branch that was named, or of a file that was saved, under Latin-1."""
    journal = Journal(tmp_path, {"processor": "Xe\udce9n"}, source={"commit": "1" * 40, "branch": "fix-\udce9"})
    journal.append(measured(case("tvm", workload="mod\udce9l.onnx"), 0.02))
    journal.close()
    with opened(tmp_path) as index:
        (row,) = index.rows()
        assert row.branch == "fix-?"
        assert row.case_id.startswith("mod?l.onnx-tvm")
        assert list(index.cases()) == [row.case_id]
        assert index.facts(row.machine)["processor"] == "Xe?n"
        assert not index.problems()


def test_damaged_lines_are_named_and_left_out(store: Path) -> None:
    path = max(store.glob("*.jsonl"))
    with path.open("a") as file:
        file.write('not JSON\n{"half of a li')
    with opened(store) as index:
        assert index.count() == 5
        assert index.problems() == {path.name: "1 damaged line"}


def test_a_run_of_a_later_version_hides_no_other(store: Path) -> None:
    (store / "new.jsonl").write_text('{"schema": 99, "run": "new", "environment": {}}\n')
    with opened(store) as index:
        assert index.count() == 5
        assert "Upgrade pytest-ngraph" in index.problems()["new.jsonl"]


def test_a_run_that_could_not_be_read_is_there_once_it_can(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(run, "SCHEMA", 0)  # a pytest-ngraph that is older than the runs
        with opened(store) as index:
            assert index.count() == 0
            assert index.unread() == sorted(index.problems()) == sorted(path.name for path in store.glob("*.jsonl"))
    with opened(store) as index:
        assert index.count() == 5
        assert not index.unread()
        assert not index.problems()
    with opened(store) as index:
        assert index.changed == 0


@pytest.mark.parametrize(
    "content", [b"this is no database, but long enough to be read as one" * 100, b"", b"\0" * 5000]
)
def test_a_damaged_index_is_made_again(store: Path, content: bytes) -> None:
    opened(store).close()
    (store / NAME).write_bytes(content)
    with opened(store) as index:
        assert index.count() == 5


def test_an_index_damaged_in_its_middle_is_made_again(store: Path) -> None:
    opened(store).close()
    whole = bytearray((store / NAME).read_bytes())
    whole[4096:] = os.urandom(len(whole) - 4096)
    (store / NAME).write_bytes(whole)
    with opened(store) as index:
        assert len(list(index.rows())) == 5


def test_an_index_of_another_version_is_made_again(store: Path) -> None:
    opened(store).close()
    with sqlite3.connect(store / NAME) as database:
        database.execute("PRAGMA user_version = 9999")
        database.execute("DROP TABLE records")
    with opened(store) as index:
        assert index.count() == 5


@pytest.mark.parametrize("statement", ["PRAGMA", "SELECT name", "BEGIN IMMEDIATE"])
def test_where_sqlite_cannot_use_a_file_the_index_is_in_memory(
    store: Path, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    """As on a file system without locks, or beyond a quota: SQLite says of either what it says of a disk that fails."""
    opened(store).close()
    nights.write(store, {nights.CASE: [1.03]}, first=3)
    connect = sqlite3.connect

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if sql.startswith(statement):
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *parameters)

    def connected(path: Any, **keywords: Any) -> sqlite3.Connection:
        return connect(path, **keywords, factory=sqlite3.Connection if path == ":memory:" else Failing)

    monkeypatch.setattr(sqlite3, "connect", connected)
    kept = (store / NAME).read_bytes()
    with opened(store) as index:
        assert index.count() == 6
        assert (store / NAME).read_bytes() == kept
        index.rebuild()
        assert index.count() == 6


@pytest.mark.parametrize(("number", "in_memory"), [(errno.ENOLCK, True), (errno.EAGAIN, False)])
def test_without_locks_of_parts_of_files_nothing_waits_for_a_session_that_is_not_there(
    store: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, in_memory: bool
) -> None:
    """SQLite says of ENOLCK what it says of a file that another process has locked, and tries again for a minute."""

    def refuse(*arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "lockf", refuse)
    with opened(store) as index:
        assert index.count() == 5
    assert (store / NAME).exists() is not in_memory


def test_rebuilding_gives_the_same(store: Path) -> None:
    with opened(store) as index:
        before = list(index.rows())
        index.rebuild()
        assert list(index.rows()) == before


def test_sessions_can_bring_it_up_to_date_at_the_same_time(store: Path) -> None:
    problems: list[BaseException] = []

    def update() -> None:
        try:
            opened(store).close()
        except BaseException as error:  # shown below
            problems.append(error)

    threads = [threading.Thread(target=update) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    with opened(store) as index:
        assert index.count() == 5


def test_a_store_that_is_not_there_has_no_records(tmp_path: Path) -> None:
    with opened(tmp_path / "none") as index:
        assert list(index.rows()) == []
    assert not (tmp_path / "none").exists()
