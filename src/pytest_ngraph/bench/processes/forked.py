"""The bench's side of a fork server: workers that start without importing their libraries again."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from pytest_ngraph.bench.processes import worker_variables
from pytest_ngraph.bench.processes.home import Home, setup_of
from pytest_ngraph.bench.processes.leftovers import MARK
from pytest_ngraph.system.child import command

START_S = 120.0
"""A server that takes longer than this to import its libraries is not waited for."""
END_S = 60.0
MESSAGE_BYTES = 1 << 16
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""NumPy's OpenBLAS starts its threads when it is imported, and nothing that is timed uses it."""


class Refused(Exception):
    """The server cannot fork; the text says why. The worker is started as a process of its own instead."""


class Process(Protocol):
    """The part of `subprocess.Popen` that a bench needs of a worker."""

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class Server(Protocol):
    """Forks workers."""

    def fork(self, mark: str, stderr: IO[bytes]) -> Process:
        """Fork a worker with this mark, whose standard error goes to the file."""
        ...


class ForkServer:
    """A process that has imported a compiler's libraries, and forks workers.

    Args:
        compiler: the compiler, with its options.
        cores: logical CPUs of the workers.
        temporary: where workers put temporary files.
        home: where workers run.

    Raises:
        Refused: the process cannot be started.
    """

    def __init__(self, compiler: str, cores: Sequence[int], temporary: Path, home: Home) -> None:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # whole messages
        except (AttributeError, OSError) as error:  # macOS has no such sockets
            raise Refused(f"this system has no sockets of whole messages: {error}") from error
        ours.settimeout(START_S)
        self._control = ours
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command(home.python, "pytest_ngraph.worker.fork_server", str(theirs.fileno())),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=worker_variables.of_worker(cores, temporary, home, bound=True)
                    | ONE_THREAD
                    | {MARK: f"{temporary}#fork"},
                    cwd=home.folder,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise Refused(f"cannot start a process: {error}") from error
        with contextlib.suppress(OSError):  # one that has died is noticed when a worker is asked for
            ours.sendall(json.dumps(setup_of(home, ahead=compiler)).encode())

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def fork(self, mark: str, stderr: IO[bytes]) -> ForkedProcess:
        """Fork a worker. Raises `Refused` where that is not possible.

        Args:
            mark: marks the worker and everything it starts.
            stderr: file for its standard error.
        """
        requests, answers = os.pipe(), os.pipe()
        theirs = [requests[0], answers[1], stderr.fileno()]
        try:
            socket.send_fds(self._control, [json.dumps({"environment": {MARK: mark}}).encode()], theirs)
            answer = self._answer()
        except OSError as error:
            os.close(requests[1])
            os.close(answers[0])
            self.close()
            raise Refused(f"the fork server does not answer: {error}") from error
        finally:
            os.close(requests[0])
            os.close(answers[1])
        self._control.settimeout(END_S)
        stdin, stdout = os.fdopen(requests[1], "wb"), os.fdopen(answers[0], "rb")
        if "refused" in answer:
            stdin.close()
            stdout.close()
            raise Refused(answer["refused"])
        return ForkedProcess(answer["pid"], stdin, stdout, self)

    def code(self, pid: int) -> int:
        """Wait for a worker to end, and return its exit code."""
        try:
            self._control.sendall(json.dumps({"wait": pid}).encode())
            code: int = self._answer()["code"]
        except OSError:  # the server has died, and its workers with it
            return -signal.SIGKILL
        return code

    def close(self) -> None:
        """End the server, and with it the workers that it has forked."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        received = self._control.recv(MESSAGE_BYTES)
        if not received:
            raise ConnectionError("it has ended")
        answer: dict[str, Any] = json.loads(received)
        return answer


class ForkedProcess:
    """A forked worker, with the part of `subprocess.Popen` that a bench needs.

    Attributes:
        stdin: pipe for requests.
        stdout: pipe with answers.
    """

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], server: ForkServer) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._server = server
        self._code: int | None = None
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return the exit code; None while the worker lives."""
        if self._code is None and select.select([self._ended], [], [], 0)[0]:
            self._end()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the worker to end, and return its exit code. Raises `subprocess.TimeoutExpired`."""
        if self._code is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
            self._end()
        assert self._code is not None
        return self._code

    def _end(self) -> None:
        self._code = self._server.code(self.pid)
        os.close(self._ended)
