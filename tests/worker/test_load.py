"""Requests of another process, answered in this one. Nothing here depends on how quick either is."""

from __future__ import annotations

import time

import pytest

from pytest_ngraph.machine.machine import this_machine
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


@pytest.mark.parametrize("cores", [(), this_machine().cores[:1]], ids=["shared", "own"])
def test_requests_that_will_not_come_are_an_error(cores: tuple[int, ...]) -> None:
    generator = Generator([0.0, 3600.0], cores)
    assert generator.take(None) == 1
    assert generator.take(time.monotonic()) == 0
    generator.close()
    reopened = Generator([3600.0], cores)
    reopened._process.kill()
    with pytest.raises(GeneratorEnded, match="ended after 0 of 1"):
        reopened.take(None)
    reopened.close()
