"""Pythons that start with libraries imported: the engine of clusters, NumPy, pytest. To import them takes a second.

Each is forked from a process that has imported them, and otherwise becomes what `subprocess.Popen` would start, with
the environment, folder and import path that it is given; it imports the package under test by itself.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

SIDE = Path(__file__).parent / "warm_side.py"
MESSAGE_BYTES = 1 << 16
POSSIBLE = sys.platform == "linux" and hasattr(os, "pidfd_open")
"""Whether there are descriptors of processes here."""
FIRST_ONLY = ("DASK_", "PYTHONPATH")
"""Beginnings of names of variables that what is imported would depend on."""


class Warm:
    """Starts processes. It ends with this one, and leaves what it has started running."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # whole messages
        kept = {name: value for name, value in os.environ.items() if not name.startswith(FIRST_ONLY)}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(SIDE), str(theirs.fileno())],
                env=kept | {"OPENBLAS_NUM_THREADS": "1"},  # a fork has only one thread
                pass_fds=[theirs.fileno()],
            )
        self._control = ours

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, stdout: IO[str], stderr: IO[str]
    ) -> WarmProcess:
        """Start what `python ARGUMENTS` would start."""
        asked = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
        streams = [stdout.fileno(), stderr.fileno()]
        socket.send_fds(self._control, [json.dumps(asked).encode()], streams)
        return WarmProcess(self._answer()["pid"], self, stdout)

    def code(self, pid: int) -> int:
        """Wait for a process to end, and return its exit code."""
        self._control.sendall(json.dumps({"wait": pid}).encode())
        return int(self._answer()["code"])

    def close(self) -> None:
        self._control.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._control.recv(MESSAGE_BYTES))
        return answer


class WarmProcess:
    """A process, with the part of `subprocess.Popen` that tests need.

    Args:
        printed: the file that it prints into.
    """

    def __init__(self, pid: int, warm: Warm, printed: IO[str]) -> None:
        self.pid = pid
        self._printed = printed
        self.returncode: int | Any = None
        self._warm = warm
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self._end()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            self._end()
        return int(self.returncode)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float) -> tuple[str, None]:
        """Wait for the process to end. Returns what it has printed, and closes the file."""
        self.wait(timeout)
        with self._printed as file:
            file.seek(0)
            return file.read(), None

    def _end(self) -> None:
        self.returncode = self._warm.code(self.pid)
        os.close(self._ended)


def start(
    command: Sequence[str], environment: Mapping[str, str], stdout: IO[str], stderr: IO[str], folder: Path | None = None
) -> WarmProcess:
    """Start a command, which begins with this interpreter and `-c` or `-m`, in a folder; None is the current one."""
    assert command[0] == sys.executable
    return _of_this_process().start(command[1:], environment, folder or Path.cwd(), stdout, stderr)


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> WarmProcess:
    """Start a command whose output and error `communicate` returns together."""
    printed = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed once it is read)
    return start(command, environment, printed, printed, folder)


@cache
def _of_this_process() -> Warm:
    made = Warm()
    atexit.register(made.close)
    return made
