"""The worker's side of an agent: starts its process, sends tasks and reads the answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.cluster.device.projects import Projects
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.worker.protocol import send

GRACE_S = 10.0
"""Time for an agent to end its workers before it is killed."""
TAIL_BYTES = 2000


class AgentEnded(Exception):
    """An agent ended before it had answered. The text is the tail of its standard error."""


class AgentProcess:
    """An agent that serves one assignment. Holds the projects, so that they stay unpacked.

    Raises:
        ProjectGone: a project is not on this device.
    """

    def __init__(self, assignment: Assignment, folder: DeviceFolder) -> None:
        self.assignment = assignment
        self._held = ExitStack()
        projects = Projects(folder.projects)
        project, *base = (self._held.enter_context(projects.held(digest)) for digest in assignment.projects)
        self._stderr = self._held.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (closed with what is held)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pytest_ngraph.cluster.device.agent"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=_environment(),
            cwd=folder.path,
            start_new_session=True,
        )
        where = {
            "assignment": assignment.to_dict(),
            "project": os.path.realpath(project),
            "base": os.path.realpath(base[0]) if base else "",
            "store": str(folder.store.absolute()),
        }
        send(self._process.stdin, where)

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def measure(self, task: Task) -> Iterator[dict[str, Any]]:
        """Yield the agent's messages on a task as they arrive.

        Raises:
            NgraphError: the agent cannot do the task.
            AgentEnded: the agent died or was stopped before the task was done.
        """
        send(self._process.stdin, task.to_dict())
        for line in self._lines():
            if not line.endswith(b"\n"):  # killed while it wrote
                break
            message: dict[str, Any] = json.loads(line)
            if "done" in message:
                return
            if "failed" in message:
                raise NgraphError(message["failed"])
            yield message
        self._process.wait()
        raise AgentEnded(self._tail())

    def stop(self) -> None:
        """End the agent, whatever it is measuring. May be called from another thread than `measure`."""
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(GRACE_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with suppress(subprocess.TimeoutExpired):  # stuck in the kernel, in a driver: no signal ends it
                self._process.wait(GRACE_S)

    def close(self) -> None:
        """End the agent, and release its projects."""
        self.stop()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        self._held.close()

    def _lines(self) -> Iterator[bytes]:
        """Yield what the agent writes, until it ends or `close` is called from another thread."""
        assert self._process.stdout is not None
        with suppress(ValueError):  # closed between two lines
            yield from iter(self._process.stdout.readline, b"")

    def _tail(self) -> str:
        if self._stderr.closed:  # `close` was called from another thread
            return ""
        size = os.fstat(self._stderr.fileno()).st_size
        start = max(0, size - TAIL_BYTES)
        return os.pread(self._stderr.fileno(), size - start, start).decode(errors="replace").strip()


def _environment() -> dict[str, str]:
    """Return this process's environment without Dask's variables."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DASK_")}
