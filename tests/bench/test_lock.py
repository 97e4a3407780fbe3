from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_ngraph.bench.lock import exclusive, is_held
from pytest_ngraph.errors import UsageError

HOLD = """
import sys, time
from pathlib import Path
from pytest_ngraph.bench.lock import exclusive
with exclusive(lambda: None, Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_free_machine_is_taken_at_once(tmp_path: Path) -> None:
    waits: list[bool] = []
    with exclusive(lambda: waits.append(True), tmp_path / "lock"):
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

    with exclusive(lambda: events.append("wait"), path, sleep):
        assert events == ["wait", "sleep"]


def test_whether_somebody_holds_the_machine_can_be_asked(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with exclusive(lambda: None, path):
        assert is_held(path)
    assert not is_held(path)


def test_every_user_can_lock_whatever_the_mask_of_the_first(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        assert not is_held(tmp_path / "lock")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o644


def test_a_lock_of_others_that_cannot_be_opened_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(UsageError, match=r"cannot open the lock file .*lock, .*chmod 644"):
        is_held(tmp_path / "lock")
