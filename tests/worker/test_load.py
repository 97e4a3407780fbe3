"""Requests of another process, answered in this one. Nothing here depends on how quick either is."""

from __future__ import annotations

import io
import os
import sys
import time
from types import SimpleNamespace

import pytest

from pytest_ngraph.machine.machine import this_machine
from pytest_ngraph.worker import generator as sending
from pytest_ngraph.worker.load import Generator, GeneratorEnded, run


def test_every_request_is_answered_after_it_was_due() -> None:
    answered: list[float] = []
    rate = run(2000, 60, lambda: answered.append(time.monotonic()))
    assert len(answered) == rate.calls == 60
    assert len(rate.seconds) == 54
    assert min(rate.seconds) > 0
    assert rate.late_s >= 0


def test_one_call_answers_several() -> None:
    rate = run(10_000, 60, lambda: time.sleep(0.05), batch=60, batch_wait_s=0.01)
    assert rate.calls < 60


class Clock:
    """Time that only passes while it is looked at, and while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        self.now += 1e-5
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.mark.parametrize("own_core", [True, False])
def test_what_sends_looks_at_the_clock_only_on_a_core_of_its_own(
    own_core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, bound = Clock(), this_machine().cores
    started: list[list[str]] = []

    def start(command: list[str], **_: object) -> SimpleNamespace:
        started.append(command)
        return SimpleNamespace(stdin=io.BytesIO(), stdout=SimpleNamespace(fileno=lambda: -1))

    monkeypatch.setattr("pytest_ngraph.worker.load.subprocess.Popen", start)
    Generator([0.5], bound, own_core=own_core)
    monkeypatch.setattr(sys, "argv", [sending.__file__, *started[0][started[0].index(sending.__file__) + 1 :]])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(sending.TIME.pack(0.5))))
    monkeypatch.setattr(sending, "time", clock)
    affinity: list[object] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: affinity.append(tuple(cores)), raising=False)
    monkeypatch.setattr(os, "write", lambda *_: None)
    sending.main()
    assert affinity == [bound]
    assert (len(clock.slept) > 10) is own_core


@pytest.mark.parametrize("own_core", [True, False])
def test_what_answers_waits_without_looking_where_it_shares_the_cores(
    own_core: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float | None] = []

    def arrived(
        reads: list[int], _: object, __: object, seconds: float | None
    ) -> tuple[list[int], list[int], list[int]]:
        waited.append(seconds)
        return reads, [], []

    generator = Generator([3600.0], this_machine().cores, own_core=own_core)
    with monkeypatch.context() as patched:
        patched.setattr("select.select", arrived)
        patched.setattr(os, "read", lambda *_: sending.TIME.pack(1.0))
        assert generator.take(None) == 1
    generator.close()
    assert waited == [0.0 if own_core else None]


@pytest.mark.parametrize("cores", [(), this_machine().cores[:1]], ids=["shared", "own"])
def test_requests_that_will_not_come_are_an_error(cores: tuple[int, ...]) -> None:
    generator = Generator([0.0, 3600.0], cores, own_core=bool(cores))
    assert generator.take(None) == 1
    assert generator.take(time.monotonic()) == 0
    generator.close()
    reopened = Generator([3600.0], cores)
    reopened._process.kill()
    with pytest.raises(GeneratorEnded, match="ended after 0 of 1"):
        reopened.take(None)
    reopened.close()
