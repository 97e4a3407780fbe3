"""Measurements and chores of a device take turns."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from fault_project import wait_until

from pytest_ngraph.bench.processes.lock import exclusive, is_held
from pytest_ngraph.cluster.device.quiet import Quiet, Unwanted

LASTING_S = 600.0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "lock"


def measured(quiet: Quiet, done: threading.Event) -> threading.Thread:
    """Measure in another thread."""

    def run() -> None:
        with quiet.measuring():
            done.set()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def ignore(reason: str) -> None:
    """Do nothing while waiting."""


def test_a_chore_is_refused_while_something_is_measured(lock: Path) -> None:
    quiet = Quiet(lock=lock)
    with quiet.measuring():
        assert not quiet.begin("client")
    assert quiet.begin("client")
    quiet.close()


def test_a_chore_is_refused_while_a_local_run_measures(lock: Path) -> None:
    quiet = Quiet(lock=lock)
    with exclusive(ignore, lock):
        assert not quiet.begin("client")
    assert quiet.begin("client")
    assert is_held(lock), "a local run would begin in the middle of a chore"
    assert not quiet.begin("other")
    quiet.end("client")
    assert not is_held(lock)


def test_a_measurement_waits_until_a_chore_is_over(lock: Path) -> None:
    quiet, done = Quiet(LASTING_S, lock), threading.Event()
    assert quiet.begin("client")
    thread = measured(quiet, done)
    assert quiet.begin("client"), "the next part of the same archive"
    assert not done.is_set()
    quiet.end("client")
    thread.join()
    assert done.is_set()


def test_a_client_that_falls_silent_holds_nobody_up(lock: Path) -> None:
    quiet, done = Quiet(0.01, lock), threading.Event()
    assert quiet.begin("client")
    measured(quiet, done).join()
    assert done.is_set()
    assert not is_held(lock)


def test_a_machine_is_kept_for_what_a_task_has_asked_for(lock: Path) -> None:
    quiet, waited = Quiet(LASTING_S, lock, sleep=lambda seconds: other.close()), list[str]()
    other = ExitStack()
    other.enter_context(exclusive(ignore, lock))
    quiet.reserve("client", waited.append)
    assert waited == [f"process {os.getpid()} is measuring on this machine"]
    assert not quiet.begin("other")
    assert quiet.begin("client")
    quiet.close()


@pytest.mark.parametrize("stop", [lambda quiet: quiet.stop("client"), Quiet.close])
def test_waiting_for_a_local_run_can_be_stopped(lock: Path, stop: Callable[[Quiet], None]) -> None:
    quiet = Quiet(LASTING_S, lock, sleep=lambda seconds: stop(quiet))
    with exclusive(ignore, lock), pytest.raises(Unwanted):
        quiet.reserve("client", ignore)
    wait_until(lambda: not is_held(lock))
