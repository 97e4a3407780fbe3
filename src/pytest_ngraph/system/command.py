"""Run a command that has ended, with all processes that it started, when the call returns."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


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
    process: subprocess.Popen[bytes] | None = None
    try:
        with held_back():  # an interrupt during the start would lose the process
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        output, errors = process.communicate(os.fsencode(given), timeout_s)
    except BaseException:
        if process is not None:
            _end(process)
        raise
    return Finished(process.returncode, os.fsdecode(output), os.fsdecode(errors))


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
