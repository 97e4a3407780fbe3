"""The parent's side of one worker process: requests and answers, time-outs, limits, death."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_ngraph.bench.processes import worker_variables
from pytest_ngraph.bench.processes.family import family, holds_more, in_use_bytes, resident_bytes
from pytest_ngraph.bench.processes.forked import Process, Server
from pytest_ngraph.bench.processes.home import OWN_HOME, Home, setup_of
from pytest_ngraph.bench.processes.leftovers import MARK, end_leftovers
from pytest_ngraph.clock import Clock
from pytest_ngraph.errors import Unsupported
from pytest_ngraph.record import Failure, FailureKind, Phase
from pytest_ngraph.system.child import command
from pytest_ngraph.wording import counted
from pytest_ngraph.worker.protocol import Done, Failed, Message, PhaseBegun, Progressed, Refused, parse, send

POLL_S = 0.25
"""How often a waiting bench checks the worker's memory: rarely enough not to disturb measurements."""
TAIL_BYTES = 4096
"""How much of the end of standard error a failure keeps."""
FLOOD_BYTES = 64 * 2**20
"""Once a worker's standard error takes more disk space than this, it is emptied."""
OnPhase = Callable[[Phase], None]
OnProgress = Callable[[str], None]


class WorkerFailed(Exception):
    """A worker did not answer a request as it should."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def in_one_line(error: Unsupported | WorkerFailed) -> str:
    """Return why a worker does not do what it was asked for."""
    return error.failure.in_one_line if isinstance(error, WorkerFailed) else str(error)


class WorkerProcess:
    """A child process that runs `pytest_ngraph.worker`, and answers one request at a time.

    Args:
        cores: logical CPUs; it computes with one thread for each.
        temporary: where it and its libraries put temporary files. Removing that folder also removes what a killed
            worker left in it.
        memory_bytes: the memory limit of it and of all processes that it starts; None for none.
        unified: its GPU uses the machine's memory, which then counts too: what a GPU holds is in no process's own.
        environment: further environment variables; None for none.
        home: where it runs.
        bound: whether each thread is bound to its core, as it must be where anything is measured.
        ahead: a compiler whose libraries it imports as soon as it has started.
        role: what it is for, as shown in lists of processes.
        server: process to fork it from; None to start a process of its own.

    Attributes:
        read: digests of the user's own files that the answer to the last request depends on, by path.

    Raises:
        WorkerFailed: the process cannot be started.
    """

    def __init__(
        self,
        *,
        cores: Sequence[int],
        temporary: Path,
        memory_bytes: int | None = None,
        unified: bool = False,
        environment: Mapping[str, str] | None = None,
        home: Home = OWN_HOME,
        bound: bool = True,
        ahead: str = "",
        role: str = "",
        server: Server | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._clock = clock
        self._memory_bytes = memory_bytes
        self._in_use_before = in_use_bytes() if unified else None
        self._mark = f"{temporary}#{secrets.token_hex(4)}"
        self._buffer = b""
        self._was_asked = False
        self.read: Mapping[str, str] = {}
        try:
            self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
            self._process: Process = (
                server.fork(self._mark, self._stderr)
                if server is not None
                else subprocess.Popen(
                    command(home.python, "pytest_ngraph.worker", *([role] if role else [])),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=worker_variables.of_worker(cores, temporary, home, bound=bound)
                    | dict(environment or {})
                    | {MARK: self._mark},
                    cwd=home.folder,
                    start_new_session=True,
                )
            )
        except OSError as error:  # no memory, no such interpreter, or the folder is gone
            message = f"cannot start a process to measure in: {error}"
            raise WorkerFailed(Failure(phase="build", kind="raised", message=message)) from error
        send(self._process.stdin, {"own_path": list(map(str, home.own_path)), **setup_of(home, ahead)})

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def resident_bytes(self) -> int:
        """The memory that it holds; 0 if it is gone."""
        return resident_bytes(self._process.pid)

    def request(
        self,
        do: str,
        *,
        timeout_s: float,
        on_phase: OnPhase | None = None,
        on_progress: OnProgress | None = None,
        phase: Phase = "build",
        **arguments: Any,
    ) -> dict[str, Any]:
        """Send a request and wait for the answer.

        Args:
            timeout_s: restarts with each phase or progress that the worker announces.
            phase: the phase that the request begins with. `on_phase` gets it before the request is sent, because the
                worker may kill this process.

        Raises:
            Unsupported: the worker says that it does not support this.
            WorkerFailed: the worker reports a failure, dies or is killed.
        """
        if on_phase is not None:
            on_phase(phase)
        # What it wrote while starting belongs to its first request.
        stderr_from = os.fstat(self._stderr.fileno()).st_size if self._was_asked else 0
        self._was_asked = True
        self.read = {}
        send(self._process.stdin, {"do": do, **arguments})
        while True:
            try:
                message = self._message(timeout_s)
            except _Ended as end:
                raise WorkerFailed(self._failure(phase, end.kind, end.text, stderr_from)) from None
            match message:
                case Done(answer, read):
                    self.read = read
                    return answer
                case Refused(reason, read):
                    self.read = read
                    raise Unsupported(reason)
                case Failed(kind, text, read):
                    self.read = read
                    raise WorkerFailed(self._failure(phase, kind, text, stderr_from))
                case PhaseBegun(begun):
                    if on_phase is not None and begun != phase:
                        on_phase(begun)
                    phase = begun
                case Progressed(text):
                    if on_progress is not None:
                        on_progress(text)

    def kill(self) -> None:
        """Kill the process. A request that waits in another thread then fails."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """Kill the process and everything that it started, including what left its process group."""
        self.kill()
        end_leftovers(self._mark)
        for pipe in (self._process.stdin, self._process.stdout, self._stderr):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a dead worker's pipe cannot be flushed
                pipe.close()

    def _message(self, timeout_s: float) -> Message:
        """Return the next message. Raises `_Ended` if there is none."""
        line = self._receive(timeout_s)
        message = parse(line)
        if message is None:
            self.kill()
            raise _Ended("crashed", f"wrote to the pipe reserved for its answers and was killed: {line[:80]!r}")
        return message

    def _receive(self, timeout_s: float) -> bytes:
        """Return the next line. Raises `_Ended` if the worker dies, or is killed for taking too much time or memory."""
        assert self._process.stdout is not None
        deadline = self._clock() + timeout_s
        descriptor = self._process.stdout.fileno()
        answers = select.poll()  # unlike select, it takes descriptors over 1023, which a long session may reach
        answers.register(descriptor, select.POLLIN)
        while b"\n" not in self._buffer:
            left = deadline - self._clock()
            if left <= 0:
                self.kill()
                raise _Ended("timed out", f"took longer than {timeout_s:g} s and was killed")
            events = answers.poll(1000 * min(POLL_S, left))
            if not events and self._process.poll() is not None:
                events = answers.poll(0)  # what it wrote before it ended
                if not events:  # not even the end of the file: a process that it forked still holds the pipe
                    raise self._death()
            if events:
                received = os.read(descriptor, 1 << 16)
                if not received:
                    raise self._death()
                self._buffer += received
            else:
                self._bound_memory()
            self._bound_stderr()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _bound_stderr(self) -> None:
        """Empty standard error before it fills the disk. The next write restores the file's length, with a hole."""
        if os.fstat(self._stderr.fileno()).st_blocks * 512 > FLOOD_BYTES:
            os.truncate(self._stderr.fileno(), 0)

    def _bound_memory(self) -> None:
        """Kill the worker if it holds more than its limit, together with what it started. Raises `_Ended` then."""
        limit = self._memory_bytes
        if limit is None:
            return
        on_board = 0 if self._in_use_before is None else in_use_bytes() - self._in_use_before
        if not (holds_more(members := family(self._process.pid), limit) or on_board > limit):
            return
        self.kill()
        end_leftovers(self._mark)  # what grew may be a process in a session of its own
        children = f", with {counted(len(members) - 1, 'process', 'processes')} that it started," * (len(members) > 1)
        raise _Ended("out of memory", f"grew{children} over the limit of {limit / 2**30:.2g} GiB and was killed")

    def _death(self) -> _Ended:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.kill()
            return _Ended("crashed", "closed its output and was killed")
        if code == -signal.SIGKILL:
            return _Ended("out of memory", "was killed from outside (SIGKILL), most likely for lack of memory")
        if code < 0:
            return _Ended("crashed", f"crashed with {signal.Signals(-code).name}")
        return _Ended("crashed", f"exited with status {code}")

    def _failure(self, phase: Phase, kind: FailureKind, message: str, stderr_from: int) -> Failure:
        return Failure(phase=phase, kind=kind, message=message, stderr_tail=self._tail(stderr_from))

    def _tail(self, start: int) -> str:
        """Return the end of what was written to standard error since `start`."""
        size = os.fstat(self._stderr.fileno()).st_size
        start = max(start if start <= size else 0, size - TAIL_BYTES)  # it may have been emptied since
        return os.pread(self._stderr.fileno(), size - start, start).decode(errors="replace").strip("\0 \n")


class _Ended(Exception):
    def __init__(self, kind: FailureKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
