"""Run a command that may hang or take all memory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a command.

    Attributes:
        output: standard output.
        errors: standard error.
        problem: why it gave no answer: time, memory, a signal; empty where it ended by itself.
        seconds: how long it took.
    """

    output: str
    errors: str
    problem: str
    seconds: float


def run(
    command: Sequence[str],
    *,
    given: str = "",
    folder: Path,
    timeout_s: float,
    memory_bytes: int,
    environment: Mapping[str, str] | None = None,
) -> Finished:
    """Run a command in a process group of its own, and end the group at its limits.

    Args:
        command: program and arguments.
        given: standard input.
        folder: working directory; output is kept in files there.
        timeout_s: seconds that it may take.
        memory_bytes: resident memory of it and its children.
        environment: variables to set beside those of this process.
    """
    started = time.monotonic()
    paths = [folder / name for name in ("stdin", "stdout", "stderr")]
    paths[0].write_text(given)
    with paths[0].open() as stdin, paths[1].open("w") as stdout, paths[2].open("w") as stderr:
        process = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        problem = ""
        while process.poll() is None:
            problem = _exceeded(process.pid, time.monotonic() - started, timeout_s, memory_bytes)
            if problem:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
            time.sleep(POLL_S)
    if not problem and process.returncode < 0:
        problem = f"crashed ({signal.Signals(-process.returncode).name})"
    output, errors = (path.read_text(errors="replace") for path in paths[1:])
    return Finished(output, errors, problem, time.monotonic() - started)


def _exceeded(pid: int, seconds: float, timeout_s: float, memory_bytes: int) -> str:
    if seconds > timeout_s:
        return f"took more than {timeout_s:.0f} s"
    if _resident(pid) > memory_bytes:
        return f"took more than {memory_bytes / 2**30:.0f} GiB"
    return ""


def _resident(pid: int) -> int:
    total = 0
    try:
        process = psutil.Process(pid)
        every = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0
    for each in every:
        try:
            total += each.memory_info().rss
        except psutil.Error:  # it ended
            continue
    return total
