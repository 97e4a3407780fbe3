"""Outlines of runs: what they say is what reading every record shows."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from synthetic import case, failed, measured, noisy, skipped

from pytest_ngraph import store
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import StoreError
from pytest_ngraph.gate.stored.stored_runs import log_seconds
from pytest_ngraph.record import Contention, Record
from pytest_ngraph.store import Journal, Outline, journal, outline, outlining
from pytest_ngraph.store.outline import Kind, load, path_of
from pytest_ngraph.store.outlining import outline_of

CASES = [case(compiler, size) for size in (1, 2, 4) for compiler in ("identity", "tvm")]


def records() -> list[Record]:
    """Return records of several kinds, and two of one case."""
    follows_from = {"graph": "g", "workload": "resnet18", "batch_size": 1, "target": {"cores": [0, 1]}, "files": {}}
    one, two, three, four, five, six = CASES
    return [
        noisy(one, 0.1, follows_from=follows_from),
        noisy(two, 0.2, seed=1, contention=Contention(pressure_percent=60.0), comparison=Comparison(same=True)),
        failed(three, kind="crashed"),
        skipped(four, "no such operator"),
        measured(five, 0.3, rounds=1, follows_from=follows_from | {"graph": ""}),
        measured(six, [0.1, 0.2], device_memory_bytes=5),
        noisy(two, 0.4, seed=2),
    ]


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a journal of two sessions, the first of which died; its outline is kept whatever its size."""
    monkeypatch.setattr(outlining, "WORTH_KEEPING", 1)
    monkeypatch.setattr(outlining, "WORTH_KEEPING_ONCE_READ", 1)
    first = Journal(tmp_path, {"processor": "Xeon"}, lambda: [each.id for each in CASES])
    first.describe_device("xeon", {"fingerprint": "abc"})
    for each in records()[:4]:
        first.enter(each.case, "measure")
        first.append(each)
    first.enter(CASES[4], "compile")
    first.close()
    second = Journal.reopen(tmp_path, first.id)
    second.describe({"processor": "Xeon", "python": "3.12"}, lambda: [CASES[4].id])
    for each in records()[4:]:
        second.append(each)
    second.end(whole=True)
    second.close()
    return tmp_path / f"{first.id}.jsonl"


def assert_is_as_read(found: Outline, path: Path) -> None:
    """Check an outline against the run, read in full."""
    run = store.read(path.parent, path.stem)
    assert dataclasses.replace(found.run, devices_of_outline=()) == dataclasses.replace(run, records=(), steps=())
    assert set(found.run.devices) == set(run.devices)
    assert found.ids == [record.case.id for record in run.records]
    assert list(found.records()) == list(run.records)
    assert found.may_pass == any(record.may_pass for record in run.records)
    for row, record in enumerate(run.records):
        cells = {name: column[row].item() for name, column in found.columns.items()}
        entry = found.entry(record.case)
        assert entry is not None
        assert entry.trait.known == bool(record.follows_from)
        assert found.graphs[cells["graph"]] == record.follows_from.get("graph", "")
        assert found.groups[cells["group"]] == record.case.group_label
        assert cells["threads"] == (-1 if record.threads is None else record.threads)
        assert cells["slowed"] == record.contention.most_slowed
        assert bool(cells["kind"] & Kind.COMPARED) == (record.comparison is not None)
        assert bool(cells["kind"] & Kind.MEASURED) == (record.outcome == "measured")
        assert bool(cells["kind"] & Kind.SKIPPED) == (record.outcome == "skipped")
        if len(record.rounds) > 1:
            assert (cells["log_s"], cells["error"]) == pytest.approx(log_seconds(record))
        else:
            assert np.isnan(cells["log_s"])


def test_it_is_as_the_run(written: Path) -> None:
    for _ in ("made", "kept"):
        assert_is_as_read(outline_of(written), written)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_it_goes_on_where_it_was_kept(written: Path, data: st.DataObject) -> None:
    """The journal may have been cut anywhere, also within a line, and may be damaged."""
    text = written.read_bytes()
    if data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(text) - 1))
        text = text[:place] + b"}" + text[place + 1 :]
    growing = written.with_name("20260101-000000-000001.jsonl")
    for cut in [*sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3))), len(text)]:
        growing.write_bytes(text[:cut])
        try:
            store.read(growing.parent, growing.stem)
        except StoreError:  # damage has made the schema a later one
            with pytest.raises(StoreError):
                outline_of(growing)
            continue
        assert_is_as_read(outline_of(growing), growing)
    path_of(growing).unlink(missing_ok=True)
    growing.unlink()


def test_only_what_was_added_is_read(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outline_of(written)
    reopened = Journal.reopen(written.parent, written.stem)
    reopened.append(measured(CASES[2], 0.5))
    reopened.close()
    kept: list[Record] = []
    keep = outlining.Outliner.keep

    def counted(self: outlining.Outliner, record: Record, length: int) -> None:
        kept.append(record)
        keep(self, record, length)

    monkeypatch.setattr(outlining.Outliner, "keep", counted)
    assert_is_as_read(outline_of(written), written)
    assert [record.case for record in kept] == [CASES[2]]


@pytest.mark.parametrize("damage", ["changed", "shorter", "another version", "no outline"])
def test_an_outline_that_does_not_hold_is_made_again(
    written: Path, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outline_of(written)
    text = written.read_bytes()
    if damage == "changed":
        written.write_bytes(text.replace(b"0.3]", b"0.4]"))
        os.utime(written, ns=(1, 1))
    elif damage == "shorter":
        written.write_bytes(b"".join(text.splitlines(keepends=True)[:-2]))
    elif damage == "another version":
        monkeypatch.setattr(outline, "VERSION", 0)
    else:
        path_of(written).write_bytes(path_of(written).read_bytes()[:500])
    assert_is_as_read(outline_of(written), written)


def test_a_store_that_cannot_be_written_has_outlines_all_the_same(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, text: bytes) -> None:
        raise StoreError("read-only")

    path_of(written).unlink(missing_ok=True)
    monkeypatch.setattr(outline, "write_whole", refuse)
    assert_is_as_read(outline_of(written), written)
    assert not path_of(written).exists()


def test_a_journal_keeps_its_outline_while_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outlining, "WORTH_KEEPING", 2)
    monkeypatch.setattr(outlining, "WORTH_KEEPING_ONCE_READ", 2)
    monkeypatch.setattr(journal, "WORTH_KEEPING", 2)
    writing = Journal(tmp_path, {})
    path = tmp_path / f"{writing.id}.jsonl"
    found = []
    for number in range(5):
        writing.append(measured(case("tvm", number + 1), 0.1))
        found.append(path_of(path).exists())
    assert found == [False, True, True, True, True]
    kept = load(path)
    assert kept is not None
    assert len(kept.columns["offset"]) == 4
    writing.close()


def test_a_record_that_is_gone_is_reported(written: Path) -> None:
    found = outline_of(written)
    written.write_bytes(b"\n" * written.stat().st_size)
    with pytest.raises(StoreError, match="was changed while it was read"):
        found.record(0)
