"""Which worker serves a role, and what happens to one that died."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.processes.process import WorkerFailed
from pytest_ngraph.bench.processes.workers import AHEAD, BASE_EXPORTER, EXPORTER, Workers
from pytest_ngraph.record import Failure

GIB = 2**30


class Process:
    def __init__(self, **keywords: object) -> None:
        self.is_bound, self.ahead = keywords["bound"], keywords["ahead"]
        self.alive = True
        self.is_closed = False
        self.resident_bytes = 0
        self.asked: list[str] = []

    def request(self, do: str, *, timeout_s: float) -> None:
        self.asked.append(do)
        if timeout_s <= 1:
            self.alive = False
            raise WorkerFailed(Failure(phase="build", kind="timed out", message="took longer"))

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workers:
    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.WorkerProcess", Process)
    return Workers(tmp_path, memory_bytes=None)


def test_a_worker_stays_for_its_role_and_target(workers: Workers) -> None:
    first = workers.resident("tvm", Target())
    assert workers.resident("tvm", Target()) is first
    assert workers.resident("tvm", Target(precision="bf16")) is first
    assert workers.resident("tvm", Target(cores=(1,))) is not first
    assert workers.resident("tvm", Target(objective="throughput")) is not first
    assert workers.resident("openvino", Target()) is not first


def test_what_a_dead_worker_started_is_ended_before_another_takes_its_place(workers: Workers) -> None:
    first: object = workers.resident("tvm", Target())
    assert isinstance(first, Process)
    first.alive = False
    second: object = workers.resident("tvm", Target())
    assert second is not first
    assert first.is_closed


def test_only_where_something_is_measured_are_threads_bound(workers: Workers) -> None:
    bound = {}
    for role in (EXPORTER, BASE_EXPORTER, "tvm"):
        started: object = workers.resident(role, Target())
        assert isinstance(started, Process)
        bound[role] = started.is_bound
    assert bound == {EXPORTER: False, BASE_EXPORTER: False, "tvm": True}


def test_a_worker_that_is_started_ahead_is_the_one_that_is_asked_for(workers: Workers) -> None:
    workers.start_ahead([("tvm", Target())])
    started: object = workers.resident("tvm", Target())
    workers.start_ahead([("tvm", Target())])
    assert workers.resident("tvm", Target()) is started
    assert isinstance(started, Process)
    assert started.ahead == "tvm"


@pytest.mark.parametrize(("in_use", "started"), [(0.5, 13), (0.9, AHEAD)])
def test_further_workers_are_started_ahead_where_memory_has_room(
    in_use: float, started: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.WorkerProcess", Process)
    workers = Workers(tmp_path, memory_bytes=None, in_use=lambda: in_use)
    roles = [(f"tvm:trials={trials}", Target()) for trials in range(13)]
    workers.start_ahead(roles)
    workers.start_ahead(roles)
    every: list[object] = [workers.resident(*each) for each in roles]
    assert [isinstance(each, Process) and bool(each.ahead) for each in every] == [True] * started + [False] * (
        len(roles) - started
    )


def test_the_bench_waits_once_for_each_that_imports(workers: Workers) -> None:
    workers.start_ahead([("tvm", Target()), ("openvino", Target())])
    tvm, openvino, exporter = (workers.resident(role, Target()) for role in ("tvm", "openvino", EXPORTER))
    assert isinstance(openvino, Process)
    openvino.alive = False
    workers.settle(timeout_s=60)
    workers.settle(timeout_s=60)
    asked = [process.asked for process in (tvm, openvino, exporter) if isinstance(process, Process)]
    assert asked == [["ready"], [], []]


def test_one_that_never_gets_ready_is_started_again_when_it_is_needed(workers: Workers) -> None:
    workers.start_ahead([("tvm", Target())])
    stuck = workers.resident("tvm", Target())
    workers.settle(timeout_s=1)
    assert workers.resident("tvm", Target()) is not stuck


def test_what_cannot_be_started_ahead_fails_when_it_is_needed(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise WorkerFailed(Failure(phase="build", kind="raised", message="no memory"))

    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.WorkerProcess", refuse)
    workers.start_ahead([("tvm", Target())])
    with pytest.raises(WorkerFailed, match="no memory"):
        workers.resident("tvm", Target())


def test_one_that_holds_on_to_memory_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.WorkerProcess", Process)
    assert ended_of(Workers(tmp_path, memory_bytes=24 * GIB), resident_bytes=4 * GIB)
    assert not ended_of(Workers(tmp_path, memory_bytes=24 * GIB), resident_bytes=GIB)


def test_on_a_small_device_libraries_are_not_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.bench.processes.workers.WorkerProcess", Process)
    assert not ended_of(Workers(tmp_path, memory_bytes=6 * GIB), resident_bytes=GIB)


def test_without_a_limit_none_holds_too_much(workers: Workers) -> None:
    assert not ended_of(workers, resident_bytes=2**40)


def ended_of(workers: Workers, resident_bytes: int) -> bool:
    worker: object = workers.resident("tvm", Target())
    assert isinstance(worker, Process)
    worker.resident_bytes = resident_bytes
    workers.discard_swollen()
    return worker.is_closed
