"""A command has ended when the call returns, by time-out or interrupt too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pytest_ngraph.system.command import held_back, run

ENDLESS = "echo $$ > pid.new; mv pid.new pid; sleep 600 & wait"
CALLER = f"""
import os, signal
from pathlib import Path
from pytest_ngraph.system.command import run

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for processes in the background
run(["sh", "-c", {ENDLESS!r}], Path.cwd(), os.environ)
"""


def _living(group: int) -> list[str]:
    """Return the processes of a group, without those that are dead but not yet reaped."""
    return [
        process.info["name"]
        for process in psutil.process_iter(["name", "status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE and _group(process.pid) == group
    ]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def test_status_output_and_errors_are_returned(tmp_path: Path) -> None:
    ended = run(["sh", "-c", "cat; echo $MINE; pwd >&2; exit 3"], tmp_path, {"MINE": "yes"}, given="input ")
    assert ended == (3, "input yes\n", f"{tmp_path.resolve()}\n")


def test_a_time_out_ends_all_that_it_started(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(["sh", "-c", ENDLESS], tmp_path, os.environ, timeout_s=2)
    assert not _living(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_all_that_it_started(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", CALLER], cwd=tmp_path, stderr=subprocess.PIPE, text=True) as caller:
        while not (tmp_path / "pid").exists():
            assert caller.poll() is None
        caller.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in caller.communicate()[1]
    assert not _living(int((tmp_path / "pid").read_text()))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts processes in the background so that they ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_held_back() -> None:
    done = []

    def interrupted() -> None:
        with held_back():
            signal.raise_signal(signal.SIGINT)
            done.append("the rest of the block")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
