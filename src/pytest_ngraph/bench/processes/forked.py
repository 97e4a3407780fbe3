"""The bench's side of a fork server: workers that start without importing their libraries again."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
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


class Ending(Protocol):
    """The part of `subprocess.Popen` that ending a process needs."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


class Process(Ending, Protocol):
    """The part of `subprocess.Popen` that a bench needs of a worker."""

    @property
    def stdin(self) -> IO[bytes] | None: ...

    @property
    def stdout(self) -> IO[bytes] | None: ...


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
        root: a server with the same cores and home from which this one is forked; None to start a process.

    Raises:
        Refused: the process cannot be started.
    """

    def __init__(
        self, compiler: str, cores: Sequence[int], temporary: Path, home: Home, root: ForkServer | None = None
    ) -> None:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # whole messages
        except (AttributeError, OSError) as error:  # macOS has no such sockets
            raise Refused(f"this system has no sockets of whole messages: {error}") from error
        ours.settimeout(START_S)
        self._control = ours
        mark = {MARK: f"{temporary}#fork"}
        with theirs:
            try:
                self._process: Ending = (
                    root.fork_server(compiler, mark, theirs) if root else _started(theirs, cores, temporary, home, mark)
                )
            except Refused:
                ours.close()
                raise
        if root is None:
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
        stdin, stdout = os.fdopen(requests[1], "wb"), os.fdopen(answers[0], "rb")
        try:
            pid = self._forked({"environment": {MARK: mark}}, [requests[0], answers[1], stderr.fileno()])
        except Refused:
            stdin.close()
            stdout.close()
            raise
        finally:
            os.close(requests[0])
            os.close(answers[1])
        return ForkedProcess(pid, self, stdin, stdout)

    def fork_server(self, compiler: str, environment: Mapping[str, str], control: socket.socket) -> Forked:
        """Fork a server that imports a compiler's libraries as well. Raises `Refused` where that is not possible.

        Args:
            environment: variables that it has besides.
            control: its end of its socket.
        """
        pid = self._forked({"serve": compiler, "environment": {**environment}}, [control.fileno()])
        return Forked(pid, self)

    def _forked(self, request: dict[str, Any], given: Sequence[int]) -> int:
        """Return the process id of what was forked, which has the file descriptors. Raises `Refused`."""
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], given)
            answer = self._answer()
        except OSError as error:
            self.close()
            raise Refused(f"the fork server does not answer: {error}") from error
        self._control.settimeout(END_S)
        if "refused" in answer:
            raise Refused(answer["refused"])
        pid: int = answer["pid"]
        return pid

    def code(self, pid: int) -> int:
        """Wait for a process that it has forked to end, and return its exit code."""
        try:
            self._control.sendall(json.dumps({"wait": pid}).encode())
            code: int = self._answer()["code"]
        except OSError:  # the server has died, and what it has forked with it
            return -signal.SIGKILL
        return code

    def close(self) -> None:
        """End the server, and with it the workers and servers that it has forked."""
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


def _started(
    control: socket.socket, cores: Sequence[int], temporary: Path, home: Home, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start the process of a server; the arguments are as in `ForkServer` and `fork_server`. Raises `Refused`."""
    variables = worker_variables.of_worker(cores, temporary, home, bound=True) | ONE_THREAD
    try:
        return subprocess.Popen(
            command(home.python, "pytest_ngraph.worker.fork_server", str(control.fileno())),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**variables, **environment},
            cwd=home.folder,
            pass_fds=[control.fileno()],
            start_new_session=True,
        )
    except OSError as error:
        raise Refused(f"cannot start a process: {error}") from error


class Forked:
    """A forked process, with what ending it needs.

    Args:
        server: which has forked it.
    """

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self._server = server
        self._code: int | None = None
        self._ended = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """Return the exit code; None while the process lives."""
        if self._code is None and select.select([self._ended], [], [], 0)[0]:
            self._end()
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process to end, and return its exit code. Raises `subprocess.TimeoutExpired`."""
        if self._code is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked process", timeout or 0.0)
            self._end()
        assert self._code is not None
        return self._code

    def _end(self) -> None:
        self._code = self._server.code(self.pid)
        os.close(self._ended)


class ForkedProcess(Forked):
    """A forked worker, with the part of `subprocess.Popen` that a bench needs.

    Args:
        stdin: pipe for requests.
        stdout: pipe with answers.
    """

    def __init__(self, pid: int, server: ForkServer, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        super().__init__(pid, server)
        self.stdin = stdin
        self.stdout = stdout
