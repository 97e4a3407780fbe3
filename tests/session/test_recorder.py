"""Records of a session on their way to the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic import case, measured

from pytest_ngraph import store
from pytest_ngraph.errors import StoreError
from pytest_ngraph.session import recorder as recorder_module
from pytest_ngraph.session.recorder import Recorder
from pytest_ngraph.session.resume import ResumedRun
from pytest_ngraph.store import Journal, journal, outlining

EAGER, TVM = case("identity", 8), case("tvm", 8)


def test_nothing_is_written_before_the_first_record(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, None, lambda: [EAGER.id])
    assert recorder.run_id == ""
    recorder.end(whole=True)
    recorder.close()
    assert store.run_ids(tmp_path) == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_record_gets_its_run_and_the_run_its_end(tmp_path: Path, *, whole: bool) -> None:
    recorder = Recorder(tmp_path, None, lambda: [EAGER.id])
    kept = recorder.keep(measured(EAGER, 0.5))
    assert kept.run == recorder.run_id != ""
    assert recorder.end(whole=whole) is whole
    recorder.close()
    run = store.read(tmp_path, recorder.run_id)
    assert [each.case for each in run.records] == [EAGER]
    assert run.whole is whole


def test_a_record_that_cannot_be_stored_is_given_back_and_the_run_is_not_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Journal, record: object) -> None:
        raise StoreError("cannot write to the store: No space left on device.")

    monkeypatch.setattr(Journal, "append", full)
    recorder = Recorder(tmp_path, None, lambda: [EAGER.id])
    assert recorder.keep(measured(EAGER, 0.5)).case == EAGER
    assert recorder.unsaved == {EAGER: "cannot write to the store: No space left on device."}
    assert recorder.end(whole=True) is False
    recorder.close()


@pytest.mark.parametrize(("planned", "whole"), [([TVM], True), ([], False)])
def test_a_resumed_run_is_whole_once_all_that_it_planned_is_covered(
    tmp_path: Path, planned: list[object], *, whole: bool
) -> None:
    first = Recorder(tmp_path, None, lambda: [EAGER.id, TVM.id])
    first.keep(measured(EAGER, 0.5))
    first.end(whole=False)
    first.close()
    resumed = ResumedRun(store.read(tmp_path, first.run_id), Journal.reopen(tmp_path, first.run_id), retries=1)
    recorder = Recorder(tmp_path, resumed, lambda: [TVM.id] if planned else [])
    for _ in planned:
        recorder.keep(measured(TVM, 0.5))
    assert recorder.end(whole=True) is whole
    recorder.close()
    assert store.run_ids(tmp_path) == [first.run_id]


@pytest.mark.parametrize(("gains", "kept_so_far"), [(1, [0, 2, 2]), (2, [0, 0, 0])])
def test_a_session_keeps_the_rows_of_a_long_run_for_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gains: int, kept_so_far: list[int]
) -> None:
    pytest.importorskip("altair")
    kept = pytest.importorskip("pytest_ngraph.report.study.kept")
    for module in (outlining, journal):
        monkeypatch.setattr(module, "WORTH_KEEPING", 2)
    monkeypatch.setattr(recorder_module, "GAINS", gains)
    recorder = Recorder(tmp_path, None, tuple)
    counts = []
    for size in (1, 2, 4):
        recorder.keep(measured(case("identity", size), 0.5))
        counts.append(sum(part.count for part in kept.parts(recorder.open().path)))
    recorder.end(whole=True)
    assert (counts, [part.count for part in kept.parts(recorder.open().path)]) == (kept_so_far, [3])
    recorder.close()
