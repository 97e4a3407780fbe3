"""Waiting for threads that are still computing."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest

from pytest_ngraph.worker import idle

needs_proc = pytest.mark.skipif(not idle.TASKS.exists(), reason="only Linux reports what threads do")


class Computing(threading.Thread):
    """Computes for a second or more, without Python's lock."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.begun, self.ended = threading.Event(), threading.Event()
        self.start()
        self.begun.wait()

    def run(self) -> None:
        self.begun.set()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 5_000_000)
        self.ended.set()


@pytest.mark.alone
@needs_proc
def test_waits_until_other_threads_are_done() -> None:
    thread = Computing()
    idle.wait(most_s=300)
    assert thread.ended.wait(0.2), "it still computes"


@needs_proc
def test_a_thread_that_never_sleeps_is_not_waited_for_forever() -> None:
    thread = Computing()
    idle.wait(most_s=0.01)
    assert not thread.ended.is_set()
    thread.join()


def test_where_the_kernel_does_not_report_threads_they_count_as_idle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    thread = Computing()
    monkeypatch.setattr(idle, "TASKS", tmp_path / "task")
    idle.wait(most_s=300)
    assert not thread.ended.is_set()
    thread.join()
