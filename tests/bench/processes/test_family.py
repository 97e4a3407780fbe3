"""A process with what it started, by real processes, and how much memory they hold together."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from pytest_ngraph.bench.processes import family as module
from pytest_ngraph.bench.processes.family import family, holds_more, own_bytes, resident_bytes

MIB = 2**20
Start = Callable[[str], "tuple[int, list[int]]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that starts a script in a session of its own, and returns its id and those that it prints."""
    started: list[subprocess.Popen[str]] = []

    def start_one(script: str) -> tuple[int, list[int]]:
        process = subprocess.Popen(
            [sys.executable, "-c", f"import os, subprocess, sys, time\n{script}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process.pid, [int(each) for each in process.stdout.readline().split()]

    yield start_one
    for process in started:
        process.communicate("end\n")


WAIT = "sys.stdin.readline()"
CHILD = f"[sys.executable, '-c', 'import sys; {WAIT}']"


def test_children_in_a_session_of_their_own_belong_to_it(start: Start) -> None:
    pid, (child,) = start(
        f"child = subprocess.Popen({CHILD}, stdin=subprocess.PIPE, start_new_session=True)\n"
        f"print(child.pid, flush=True)\n{WAIT}\nchild.communicate()"
    )
    assert family(pid) == {pid, child}


def test_orphans_that_stayed_in_its_session_belong_to_it(start: Start) -> None:
    pid, (grandchild,) = start(
        "if os.fork() == 0:\n"
        f"    if os.fork() == 0:\n        print(os.getpid(), flush=True)\n        {WAIT}\n"
        f"    os._exit(0)\nos.wait()\n{WAIT}"
    )
    assert family(pid) >= {pid, grandchild}


def test_a_process_that_is_gone_holds_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert resident_bytes(process.pid) == own_bytes(process.pid) == 0
    assert not holds_more(family(process.pid), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports what processes share")
def test_what_forked_processes_share_counts_once(start: Start) -> None:
    pid, children = start(
        f"held = b'x' * {100 * MIB}\n"
        "for _ in range(3):\n"
        f"    if (child := os.fork()) == 0:\n        {WAIT}\n        os._exit(0)\n"
        f"    print(child, end=' ')\nprint(flush=True)\n{WAIT}"
    )
    members = family(pid)
    assert members == {pid, *children}
    assert sum(map(resident_bytes, members)) > 250 * MIB
    assert 90 * MIB < sum(map(own_bytes, members)) < 200 * MIB
    assert not holds_more(members, 200 * MIB)
    assert holds_more(members, 90 * MIB)


def test_pages_are_counted_only_if_it_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "own_bytes", lambda pid: pytest.fail("the kernel walks all pages"))
    assert not holds_more([os.getpid(), os.getppid()], 2**60)
    assert holds_more([os.getpid()], 1)
