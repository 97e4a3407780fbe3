"""A run that several sessions write, one after another, and the cases that were running when one of them died."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.case import Case
from pytest_ngraph.errors import StoreError
from pytest_ngraph.record import Phase
from pytest_ngraph.store import Journal
from pytest_ngraph.store.journal import new_id

EAGER, TVM, OTHER = case("identity"), case("tvm"), case("tvm", batch_size=2)
NOON = datetime(2026, 11, 21, 12, 0, 0)


def session(
    folder: Path,
    *entered: tuple[Case, Phase],
    recorded: Sequence[Case] = (),
    resumes: str = "",
    ends: bool | None = None,
) -> str:
    """Write a session that enters phases, then records. `ends`: whether it is complete; None if it dies."""
    journal = Journal.reopen(folder, resumes) if resumes else Journal(folder, {})
    journal.describe({"python": "3"}, lambda: [each.id for each in (EAGER, TVM, OTHER)])
    for one, phase in entered:
        journal.enter(one, phase)
    for each in recorded:
        journal.append(measured(each, 0.1, run=journal.id))
    if ends is not None:
        journal.end(whole=ends)
    journal.close()
    return journal.id


def test_a_session_that_ends_well(tmp_path: Path) -> None:
    session(tmp_path, (EAGER, "compile"), recorded=[EAGER, TVM, OTHER], ends=True)
    run = store.read(tmp_path)
    assert (run.whole, run.deaths, run.unfinished) == (True, {}, 0)
    assert store.unfinished(tmp_path) is None


@pytest.mark.parametrize("ends", [None, False])
def test_a_session_that_is_cut_short_can_be_resumed(tmp_path: Path, ends: bool | None) -> None:
    run_id = session(tmp_path, (EAGER, "compile"), recorded=[EAGER], ends=ends)
    run = store.read(tmp_path)
    assert (run.whole, run.deaths, run.unfinished) == (False, {}, 2)
    assert store.unfinished(tmp_path) == run_id


def test_the_case_that_ran_when_it_died_is_known(tmp_path: Path) -> None:
    session(tmp_path, (EAGER, "compile"), (EAGER, "measure"), (TVM, "compile"))
    run = store.read(tmp_path)
    assert run.deaths == {TVM: (1, "compile")}
    assert run.crashed == [TVM]
    assert run.unfinished == 2


def test_all_cases_measured_alternately_count_as_dead(tmp_path: Path) -> None:
    session(tmp_path, (OTHER, "measure"), (EAGER, "measure"), (TVM, "measure"))
    assert set(store.read(tmp_path).deaths) == {EAGER, TVM}


def test_an_interrupted_session_did_not_crash(tmp_path: Path) -> None:
    session(tmp_path, (TVM, "compile"), ends=False)
    assert store.read(tmp_path).deaths == {}


def test_deaths_add_up_until_there_is_a_record(tmp_path: Path) -> None:
    run_id = session(tmp_path, (TVM, "compile"))
    session(tmp_path, (TVM, "compile"), (TVM, "verify"), resumes=run_id)
    assert store.read(tmp_path).deaths == {TVM: (2, "verify")}
    session(tmp_path, (TVM, "compile"), recorded=[TVM], resumes=run_id, ends=True)
    run = store.read(tmp_path)
    assert run.crashed == []
    assert run.whole


def test_a_torn_tail_is_ended_before_more_is_written(tmp_path: Path) -> None:
    run_id = session(tmp_path, recorded=[EAGER, TVM])
    path = tmp_path / f"{run_id}.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    session(tmp_path, recorded=[OTHER], resumes=run_id, ends=True)
    run = store.read(tmp_path)
    assert [record.case for record in run.records] == [EAGER, OTHER]
    assert run.damaged == 1


def test_only_one_process_writes_to_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.store.journal.LOCK_POLL_S", 0)
    writer = Journal(tmp_path, {})
    writer.append(measured(EAGER, 0.1))
    assert store.is_live(tmp_path, writer.id)
    assert store.unfinished(tmp_path) is None
    with pytest.raises(StoreError, match="another process writes"):
        Journal.reopen(tmp_path, writer.id)
    writer.close()
    assert not store.is_live(tmp_path, writer.id)


def test_readers_do_not_block_the_writer(tmp_path: Path) -> None:
    writer = Journal(tmp_path, {})
    for each in (EAGER, TVM):
        writer.append(measured(each, 0.1))
        assert store.read(tmp_path).records[-1].case == each
        assert store.is_live(tmp_path, writer.id)


def test_a_deleted_file_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    writer = Journal(folder, {"python": "3"})
    writer.append(measured(EAGER, 0.1))
    (folder / f"{writer.id}.jsonl").unlink()
    (folder / ".gitignore").unlink()
    folder.rmdir()
    writer.append(measured(TVM, 0.1))
    run = store.read(folder)
    assert [record.case for record in run.records] == [EAGER, TVM]
    assert run.environment == {"python": "3"}


def test_ids_sort_in_the_order_of_beginning_when_the_clock_goes_back(tmp_path: Path) -> None:
    clock = [NOON, NOON, NOON - timedelta(days=400), NOON + timedelta(hours=1)]
    ids = []
    for now in clock:
        ids.append(new_id(tmp_path, lambda now=now: now))  # type: ignore[misc]  # mypy: a lambda's default
        (tmp_path / f"{ids[-1]}.jsonl").write_text("")
    assert ids == sorted(ids)
    assert ids == store.run_ids(tmp_path)


def test_other_files_do_not_affect_ids(tmp_path: Path) -> None:
    (tmp_path / "zzz.jsonl").write_text("")
    (tmp_path / "99999999-999999-1.jsonl").write_text("")
    assert new_id(tmp_path, lambda: NOON).startswith("20261121-120000-")


def test_a_superseded_record_keeps_its_line(tmp_path: Path) -> None:
    """A measurement is never erased, even if the case is measured again."""
    run_id = session(tmp_path, recorded=[EAGER])
    (first,) = store.read(tmp_path).records
    journal = Journal.reopen(tmp_path, run_id)
    journal.append(dataclasses.replace(first, stable=not first.stable))
    journal.close()
    assert (tmp_path / f"{run_id}.jsonl").read_text().count('"outcome"') == 2
    assert len(store.read(tmp_path).records) == 1


def test_each_device_has_its_environment(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {"processor": "of the client"})
    journal.describe_device("xeon", {"processor": "of the device"})
    journal.append(measured(EAGER, 0.1))
    journal.end(whole=True)
    run = store.read(tmp_path)
    assert run.environment_of("xeon") == {"processor": "of the device"}
    assert run.environment_of("orin") == run.environment == {"processor": "of the client"}
    assert run.devices == ["xeon"]
    assert run.dropped == ()
