from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic import case, failed, measured, skipped

from pytest_ngraph import store
from pytest_ngraph.comparison import Comparison
from pytest_ngraph.errors import StoreError, UsageError
from pytest_ngraph.record import Record
from pytest_ngraph.store import baselines

CASE, OTHER = case("openvino", 8), case("openvino", 16)


def run_of(folder: Path, run: str, *records: Record) -> str:
    """Write a run with this id into the store. Return the id."""
    header = {"schema": store.SCHEMA, "run": run, "environment": {"fingerprint": "abc"}}
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(data) + "\n" for data in (header, *(record.to_dict() for record in records))]
    (folder / f"{run}.jsonl").write_text("".join(lines))
    return run


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A store whose baseline `v1` has two runs."""
    for run, seconds in (("20260101-000000-1", 1.0), ("20260102-000000-1", 1.1)):
        run_of(tmp_path, run, measured(CASE, seconds))
        baselines.keep(tmp_path, "v1", run)
    return tmp_path


@pytest.mark.parametrize(("last", "ran"), [(failed(CASE), True), (skipped(CASE, "no such operator"), False)])
def test_a_failure_does_not_excuse_a_case(kept: Path, last: Record, *, ran: bool) -> None:
    """Else a crash that was saved with the others of its run would hide that the case is never measured again."""
    baselines.keep(kept, "v1", run_of(kept, "20260103-000000-1", last))
    assert baselines.read(kept, "v1").ran(CASE) is ran


def test_a_baseline_grows_by_a_run_each_time(kept: Path) -> None:
    baseline = baselines.read(kept, "v1")
    assert [run.id for run in baseline.runs] == ["20260101-000000-1", "20260102-000000-1"]
    assert [record.latency_s for record in baseline.records[CASE]] == [1.0, 1.1]
    assert baselines.names(kept) == ["v1"]
    assert baseline.label == "baseline v1"


def test_a_kept_run_is_the_journal_itself(kept: Path) -> None:
    name = "20260101-000000-1.jsonl"
    assert (kept / "baselines" / "v1" / name).read_bytes() == (kept / name).read_bytes()


def test_only_what_was_measured_on_its_own_counts(tmp_path: Path) -> None:
    paired = measured(OTHER, 1.0, comparison=Comparison())
    baselines.keep(
        tmp_path, "v1", run_of(tmp_path, "1", failed(CASE), paired, measured(CASE, 2.0), measured(CASE, 3.0))
    )
    ((of, (record,)),) = baselines.read(tmp_path, "v1").records.items()
    assert (of, record.latency_s) == (CASE, 3.0)


def test_latest_is_the_last_run_of_the_store(kept: Path) -> None:
    baseline = baselines.read(kept, "latest")
    assert [run.id for run in baseline.runs] == ["20260102-000000-1"]
    assert baseline.label == "run 20260102-000000-1"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../v1", ".hidden", "-v", "latest", "v 1"])
def test_names_that_are_not_allowed(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        baselines.check_open(tmp_path, name)


def test_a_missing_baseline(kept: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown baseline 'v2'\. Known: v1\."):
        baselines.read(kept, "v2")


def test_an_anchored_one_stays_as_it_is(kept: Path) -> None:
    baselines.bless(kept, "v1")
    assert baselines.read(kept, "v1").anchored
    with pytest.raises(UsageError, match="bless --undo v1"):
        baselines.keep(kept, "v1", "20260102-000000-1")
    baselines.bless(kept, "v1", anchored=False)
    baselines.keep(kept, "v1", run_of(kept, "20260103-000000-1", measured(CASE, 1.2)))
    assert len(baselines.read(kept, "v1").runs) == 3


def test_a_run_that_was_not_stored_cannot_be_kept(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot save .*20260101-000000-1\.jsonl as baseline v1"):
        baselines.keep(tmp_path, "v1", "20260101-000000-1")
    assert list(tmp_path.iterdir()) == []


def test_an_exported_baseline_is_imported_as_it_was(kept: Path, tmp_path: Path) -> None:
    file = tmp_path / "v1.export"
    assert baselines.export(kept, "v1", file) == 2
    elsewhere = tmp_path / "elsewhere"
    assert baselines.import_from(file, elsewhere, "v1") == 2
    assert baselines.read(elsewhere, "v1") == baselines.read(kept, "v1")
    assert [path.name for path in (elsewhere / "baselines").iterdir()] == ["v1"]


def test_nothing_is_overwritten(kept: Path, tmp_path: Path) -> None:
    file = tmp_path / "v1.export"
    baselines.export(kept, "v1", file)
    with pytest.raises(UsageError, match="exists"):
        baselines.export(kept, "v1", file)
    with pytest.raises(UsageError, match="baseline v1 exists"):
        baselines.import_from(file, kept, "v1")


HEADER = {"schema": 1, "run": "20260101-000000-1", "environment": {}}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [], "does not describe a run"),
        (lambda lines: lines[1:], "does not describe a run"),
        (lambda lines: [lines[0], lines[0]], "or it appears twice"),
        (lambda lines: [lines[0], "{"], "1 damaged line"),
        (lambda lines: [lines[0], '{"case": {}}'], "no record can be read"),
        (lambda lines: [json.dumps(HEADER | {"run": "../../x"})], "not the id of a run"),
        (lambda lines: [json.dumps(HEADER | {"schema": 99})], "schema 99"),
        (lambda lines: [json.dumps({"schema": 1, "run": "1"})], "no record can be read"),
    ],
)
def test_files_that_are_not_baselines_are_not_imported(
    tmp_path: Path, spoil: Callable[[list[str]], list[str]], message: str
) -> None:
    file = tmp_path / "spoilt.jsonl"
    file.write_text("\n".join(spoil([json.dumps(HEADER), json.dumps(measured(CASE, 1.0).to_dict())])))
    with pytest.raises(StoreError, match=message):
        baselines.import_from(file, tmp_path / "store", "v1")
    assert list((tmp_path / "store" / "baselines").iterdir()) == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot import"):
        baselines.import_from(tmp_path / "none", tmp_path, "v1")


def test_latest_is_not_the_run_that_is_compared(kept: Path) -> None:
    newest = "20260102-000000-1"
    assert [run.id for run in baselines.read(kept, "latest", own=newest).runs] == ["20260101-000000-1"]
    (kept / "20260101-000000-1.jsonl").unlink()
    with pytest.raises(UsageError, match=f"no run before {newest}"):
        baselines.read(kept, "latest", own=newest)


def test_a_damaged_run_is_not_kept(tmp_path: Path) -> None:
    run = run_of(tmp_path, "1", measured(CASE, 1.0))
    journal = tmp_path / "1.jsonl"
    journal.write_text(journal.read_text() + "{torn\n")
    with pytest.raises(StoreError, match="1 damaged line"):
        baselines.keep(tmp_path, "v1", run)
    assert baselines.names(tmp_path) == []


def test_latest_is_the_last_run_that_was_measured_without_a_base(kept: Path) -> None:
    """A run of the gate or of a history is measured under other conditions: nothing could be compared with it."""
    run_of(kept, "20260103-000000-1", measured(CASE, 1.0, comparison=Comparison()), failed(OTHER))
    run_of(kept, "20260104-000000-1", failed(CASE))
    for found in (baselines.read(kept, "latest"), baselines.outlined(kept, "latest")[0]):
        assert [run.id for run in found.runs] == ["20260102-000000-1"]
    run_of(kept, "20260105-000000-1", failed(CASE), measured(OTHER, 1.0))
    assert baselines.read(kept, "latest").label == "run 20260105-000000-1"


def test_without_such_a_run_latest_is_a_mistake(tmp_path: Path) -> None:
    run_of(tmp_path, "20260103-000000-1", measured(CASE, 1.0, comparison=Comparison()))
    with pytest.raises(UsageError, match=r"no run .* was measured without a base.*Run pytest once without"):
        baselines.read(tmp_path, "latest")
