"""Run a command that has ended, with all processes that it started, when the call returns."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


class Finished(NamedTuple):
    """A command's exit status, standard output and standard error."""

    status: int
    output: str
    errors: str


def run(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    given: str = "",
    timeout_s: float | None = None,
) -> Finished:
    """Run a command in `folder`, with `given` as its input. Raise `subprocess.TimeoutExpired` after `timeout_s`.

    The command has a session of its own, so that Ctrl-C reaches only the caller. This function then kills the whole
    session.
    """
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with running(command, folder, environment, _end, **streams) as process:
        output, errors = process.communicate(os.fsencode(given), timeout_s)
    return Finished(process.returncode, os.fsdecode(output), os.fsdecode(errors))


@contextmanager
def running(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    end: Callable[[subprocess.Popen[bytes]], None],
    **streams: Any,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a session of its own. What ends the block early, as Ctrl-C does, ends the command first.

    Args:
        end: ends the command.
        streams: its standard streams, as `Popen` takes them.
    """
    process: subprocess.Popen[bytes] | None = None
    try:
        with held_back():  # an interrupt during the start would lose the process
            process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams)
        yield process
    except BaseException:
        if process is not None:
            end(process)
        raise


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()  # waits until all of its processes have closed their ends


HELD = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def held_back() -> Iterator[None]:
    """Delay these signals until the block has ended. Only the main thread ever gets one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {held: signal.signal(held, lambda number, _: waiting.append(number)) for held in HELD}
    try:
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler if handler is not None else signal.SIG_DFL)
        if waiting:
            signal.raise_signal(waiting[0])
