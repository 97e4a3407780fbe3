"""Waiting for threads that are still computing."""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path

import pytest

from pytest_ngraph.worker import idle

needs_proc = pytest.mark.skipif(not idle.TASKS.exists(), reason="only Linux reports what threads do")


class Computing(threading.Thread):
    """Computes without Python's lock, already when it is returned.

    Args:
        endless: whether it goes on until `stop` is called, rather than for a third of a second or more.
    """

    def __init__(self, *, endless: bool = False) -> None:
        super().__init__(daemon=True)
        self._is_over = threading.Event()
        if not endless:
            self._is_over.set()
        before = time.process_time()
        self.start()
        while time.process_time() < before + 0.05:
            time.sleep(0.001)

    def run(self) -> None:
        while True:
            hashlib.pbkdf2_hmac("sha256", b"", b"", 1_500_000)
            if self._is_over.is_set():
                return

    def stop(self) -> None:
        self._is_over.set()
        self.join()


@needs_proc
def test_waits_until_other_threads_are_done() -> None:
    thread = Computing()
    idle.wait(most_s=300)
    before = time.process_time()
    thread.join()
    assert time.process_time() < before + 0.1, "it still computed"


@needs_proc
def test_a_thread_that_never_sleeps_is_not_waited_for_forever() -> None:
    thread = Computing(endless=True)
    idle.wait(most_s=0.01)
    assert thread.is_alive()
    thread.stop()


def test_where_the_kernel_does_not_report_threads_they_count_as_idle(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    thread = Computing(endless=True)
    monkeypatch.setattr(idle, "TASKS", tmp_path / "task")
    before = time.process_time()
    idle.wait(most_s=300)
    assert time.process_time() < before + 0.2, "it has not been waited for"
    thread.stop()
