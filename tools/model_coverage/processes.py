"""Run a command that may hang or take all memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

POLL_S = 0.2
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "MKL", "OPENBLAS", "TVM")}
interrupted = threading.Event()
"""Set to end all commands: `run` then raises `KeyboardInterrupt`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one model may take under one compiler.

    Attributes:
        timeout_s: seconds.
        memory_bytes: resident memory of a command and its children.
    """

    timeout_s: float
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a command.

    Attributes:
        output: standard output.
        errors: standard error.
        problem: why it gave no answer: time, memory, a signal; empty where it ended by itself.
        at_limit: whether it was ended at one of its limits.
        seconds: how long it took.
    """

    output: str
    errors: str
    problem: str
    at_limit: bool
    seconds: float


def run(command: Sequence[str], given: str, folder: Path, limits: Limits) -> Finished:
    """Run a command in a process group of its own, with one thread, and end the group at its limits.

    Args:
        command: program and arguments.
        given: standard input.
        folder: working directory. Output and temporary files are kept there, the lock of measurements among them, so
            that commands do not wait for each other.
        limits: what the command may take.
    """
    started = time.monotonic()
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
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
            env={**os.environ, **ONE_THREAD, "TMPDIR": str(temporary)},
        )
        exceeded = ""
        try:
            while process.poll() is None and not exceeded:
                exceeded = _exceeded(process.pid, time.monotonic() - started, limits)
                if interrupted.wait(POLL_S):
                    raise KeyboardInterrupt
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    crashed = f"crashed ({signal.Signals(-process.returncode).name})" if process.returncode < 0 else ""
    output, errors = (path.read_text(errors="replace") for path in paths[1:])
    return Finished(output, errors, exceeded or crashed, bool(exceeded), time.monotonic() - started)


def _exceeded(pid: int, seconds: float, limits: Limits) -> str:
    if seconds > limits.timeout_s:
        return f"timed out after {limits.timeout_s:.0f} s"
    if _resident(pid) > limits.memory_bytes:
        return f"took more than {limits.memory_bytes / 2**30:.0f} GiB"
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
