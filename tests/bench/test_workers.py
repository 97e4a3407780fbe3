"""Which worker answers for a role, and what becomes of one that died."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_ngraph.artifact import Target
from pytest_ngraph.bench.workers import Workers


class Process:
    def __init__(self, **keywords: object) -> None:
        self.alive = True
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workers:
    monkeypatch.setattr("pytest_ngraph.bench.workers.WorkerProcess", Process)
    return Workers(tmp_path, memory_bytes=None)


def test_a_worker_stays_for_its_role_and_target(workers: Workers) -> None:
    first = workers.resident("tvm", Target())
    assert workers.resident("tvm", Target()) is first
    assert workers.resident("tvm", Target(cores=(1,))) is not first
    assert workers.resident("openvino", Target()) is not first


def test_what_a_dead_worker_started_is_ended_before_another_takes_its_place(workers: Workers) -> None:
    first: object = workers.resident("tvm", Target())
    assert isinstance(first, Process)
    first.alive = False
    second: object = workers.resident("tvm", Target())
    assert second is not first
    assert first.is_closed
