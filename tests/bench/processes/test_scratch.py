"""The temporary folder of a bench."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from pytest_ngraph.bench.processes.scratch import LOCK, PREFIX, Scratch, remove_abandoned
from pytest_ngraph.errors import UsageError


def test_it_is_removed_at_once_though_a_forked_child_holds_the_reapers_pipe() -> None:
    scratch = Scratch()
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    try:
        started = time.monotonic()
        scratch.close()
        assert time.monotonic() - started < 30
        assert not scratch.folder.exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_temporary_folder_without_locks_is_one_message_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match=r"cannot lock a file in the temporary folder .*Set TMPDIR"):
        Scratch()
    assert not list(tmp_path.iterdir())


def test_what_a_dead_bench_left_is_removed_also_on_nfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, an exclusive lock needs a file that is open for writing."""
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if operation & fcntl.LOCK_EX and fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(fcntl, "flock", flock)
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    scratch = Scratch()
    assert not left.exists()
    remove_abandoned()
    assert scratch.folder.exists(), "it is held"
    scratch.close()
