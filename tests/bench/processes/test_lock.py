from __future__ import annotations

import errno
import fcntl
import os
import select
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_ngraph.bench.processes.lock import BOOT_ID, LOCK, _machine, exclusive, is_held
from pytest_ngraph.errors import UsageError

HOLD = """
import sys, time
from pathlib import Path
from pytest_ngraph.bench.processes.lock import exclusive
with exclusive(lambda reason: None, Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_free_machine_is_taken_at_once(tmp_path: Path) -> None:
    waits: list[bool] = []
    with exclusive(lambda reason: waits.append(True), tmp_path / "lock"):
        assert waits == []


def test_a_second_process_waits_and_gets_it_when_the_first_dies(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    events: list[str] = []

    def sleep(seconds: float) -> None:
        events.append("sleep")
        holder.kill()
        holder.wait()

    with exclusive(events.append, path, sleep):
        assert events == [f"process {holder.pid} is measuring on this machine", "sleep"]


def test_who_waits_long_is_reminded(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    texts: list[str] = []
    holder = exclusive(lambda reason: None, path)
    holder.__enter__()

    def sleep(seconds: float) -> None:
        if len(texts) == 3:
            holder.__exit__(None, None, None)

    with exclusive(texts.append, path, sleep):
        measuring = f"process {os.getpid()} is measuring on this machine"
        assert texts == [measuring, f"{measuring}, waited for 30 s so far", f"{measuring}, waited for 60 s so far"]


def test_whether_somebody_holds_the_machine_can_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with exclusive(lambda reason: None, path):
        assert is_held(path)
    assert not is_held(path)


def test_every_user_can_lock_whatever_the_mask_of_the_first(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert not is_held(tmp_path / "lock")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o666


def test_it_works_on_nfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There, the kernel makes a lock on a range of bytes of it, for which the file must be open for writing."""
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        may_write = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        if operation & fcntl.LOCK_EX and not may_write:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    path = tmp_path / "lock"
    for _ in ("created", "opened"):
        with exclusive(lambda reason: None, path):
            assert is_held(path)


@pytest.mark.parametrize("number", [errno.EBADF, errno.ENOLCK, errno.ENOSYS])
def test_a_file_that_cannot_be_locked_is_one_message(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    message = rf"cannot lock .*lock, .*: {os.strerror(number)}\. Set TMPDIR"
    with pytest.raises(UsageError, match=message), exclusive(lambda reason: None, tmp_path / "lock"):
        pass
    with pytest.raises(UsageError, match=message):
        is_held(tmp_path / "lock")


@pytest.mark.parametrize("plant", [os.mkfifo, os.mkdir])
@pytest.mark.parametrize("mode", [0o444, 0o666])
def test_what_somebody_has_planted_stops_nobody(plant: Callable[[Path], None], mode: int, tmp_path: Path) -> None:
    path = tmp_path / "lock"
    plant(path)
    path.chmod(mode)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    try:
        assert select.select([holder.stdout], [], [], 30)[0], "it waits for somebody to write into the FIFO"
        assert holder.stdout.readline() == "held\n"
        assert is_held(path)
    finally:
        holder.kill()
        holder.communicate()
    assert not is_held(path)


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="cannot open the lock file"):
        is_held(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()


def test_machines_that_share_a_temporary_folder_do_not_wait_for_each_other() -> None:
    assert _machine() in LOCK.name
    if BOOT_ID.exists():
        assert _machine() == BOOT_ID.read_text().strip()


def test_a_lock_of_others_that_cannot_be_opened_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match=r"cannot open the lock file .*lock, .*chmod 666"):
        is_held(tmp_path / "lock")
