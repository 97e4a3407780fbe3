"""Keeps an agent from one task to the next, and starts another when it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device.agent_process import AgentEnded, AgentProcess
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.errors import NgraphError

IDLE_S = 60.0
"""Time after which an agent with nothing to do is ended."""
DEATHS = 4
"""How many agents may die during one task before it fails. A case that kills them is given up earlier."""
Row = tuple[int, dict[str, Any]]
"""A case's index in its task, and its record as data."""


class Stopped(Exception):
    """The client no longer wants the task."""


class Resident:
    """Holds at most one agent, that of the session which measured last.

    `measure` serves one task at a time; `stop` and `close` may be called from other threads at any time.
    """

    def __init__(self) -> None:
        self._agent: AgentProcess | None = None
        self._lock = threading.Lock()
        self._unwanted: set[str] = set()
        self._idle: threading.Timer | None = None

    def measure(self, task: Task, folder: DeviceFolder, report: Callable[[dict[str, Any]], None]) -> list[Row]:
        """Return the records of a task.

        Args:
            task: what to measure.
            folder: the device's folder.
            report: called with each message on the agent's progress.

        Raises:
            Stopped: the client no longer wants the task.
            NgraphError: the agent cannot do the task, or `DEATHS` agents died.
        """
        rows: dict[int, dict[str, Any]] = {}
        reason = ""
        for _ in range(DEATHS):
            agent = self._started(task.assignment, folder)
            try:
                for message in agent.measure(task):
                    if "record" in message:
                        rows[message["case"]] = message["record"]
                    else:
                        report(message)
                return list(rows.items())
            except AgentEnded as end:
                reason = str(end)
                self._end(agent)
                if task.assignment.client in self._unwanted:
                    raise Stopped from None
            finally:
                self._end_when_idle()
        raise NgraphError(f"the measuring process died {DEATHS} times: {reason or 'it printed nothing'}")

    def stop(self, client: str) -> None:
        """Stop measuring for this client, now and from now on."""
        self._unwanted.add(client)
        with self._lock:
            agent = self._agent
        if agent is not None and agent.assignment.client == client:
            agent.stop()

    def release(self, client: str) -> None:
        """End the agent of this client, so that it holds no projects."""
        self.stop(client)
        with self._lock:
            agent = self._agent
        if agent is not None and agent.assignment.client == client:
            self._end(agent)

    def close(self) -> None:
        """End the agent, whatever it is measuring."""
        with self._lock:
            agent, self._agent = self._agent, None
        if agent is not None:
            self._unwanted.add(agent.assignment.client)
            agent.close()

    def _started(self, assignment: Assignment, folder: DeviceFolder) -> AgentProcess:
        """Return the assignment's agent, started if need be. Raises `Stopped`."""
        with self._lock:
            if assignment.client in self._unwanted:
                raise Stopped
            if self._idle is not None:
                self._idle.cancel()
            agent = self._agent
            if agent is None or not agent.alive or agent.assignment != assignment:
                if agent is not None:
                    agent.close()
                self._agent = agent = AgentProcess(assignment, folder)
            return agent

    def _end(self, agent: AgentProcess) -> None:
        agent.close()
        with self._lock:
            if self._agent is agent:
                self._agent = None

    def _end_when_idle(self) -> None:
        with self._lock:
            if self._agent is not None:
                self._idle = threading.Timer(IDLE_S, self._end, [self._agent])
                self._idle.daemon = True
                self._idle.start()
