"""The thread that answers questions keeps away from what is measured."""

from __future__ import annotations

import os
import threading

import pytest

from pytest_ngraph.cluster.device import background
from pytest_ngraph.cluster.device.background import aside, spare, step_back
from pytest_ngraph.cluster.device.device import MeasuringThreadPoolExecutor
from pytest_ngraph.machine.cores import Core

pytestmark = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="the system has no idle priority")


def test_the_measuring_thread_keeps_its_priority() -> None:
    def serve() -> None:
        executor = MeasuringThreadPoolExecutor()
        step_back()
        policies.append(os.sched_getscheduler(0))
        policies.append(executor.submit(os.sched_getscheduler, 0).result())
        executor.end()

    policies: list[int] = []
    own = os.sched_getscheduler(0)
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    assert policies == [os.SCHED_IDLE, own]


def test_no_sibling_of_a_measured_core_is_spare() -> None:
    cores = [Core(0, (0, 2)), Core(1, (1, 3)), Core(4, (4,))]
    assert spare(cores, {0}) == [1, 4]
    assert spare(cores, {3, 4}) == [0]
    assert spare(cores, {0, 1, 4}) == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core: none is spare")
def test_a_thread_steps_aside_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = before = sorted(os.sched_getaffinity(0))
    monkeypatch.setattr(background, "allowed", lambda: [Core(cpu, (cpu,)) for cpu in before])
    with aside(0, {first}):
        assert sorted(os.sched_getaffinity(0)) == others
    assert sorted(os.sched_getaffinity(0)) == before
    with aside(0, before):
        assert sorted(os.sched_getaffinity(0)) == before
