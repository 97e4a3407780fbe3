"""The agent that a device keeps from one task to the next."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device.agent_process import AgentEnded, AgentProcess
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.errors import NgraphError

IDLE_S = 60.0
"""After which an agent that has nothing to do is ended."""
DEATHS = 4
"""Of agents under one task, after which it is given up. A case that kills them is given up before."""
Row = tuple[int, dict[str, Any]]
"""A case's place in its task, and its record as data."""


class Stopped(Exception):
    """The client does not want the task any more."""


class Resident:
    """At most one agent: that of the session which measured last. One task at a time asks; `stop` and `close` may be
    called meanwhile, from other threads."""

    def __init__(self) -> None:
        self._agent: AgentProcess | None = None
        self._lock = threading.Lock()
        self._unwanted: set[str] = set()
        self._idle: threading.Timer | None = None

    def measure(self, task: Task, folder: DeviceFolder, tell: Callable[[dict[str, Any]], None]) -> list[Row]:
        """The records of a task. tell: is told what the agent says in between.

        Raises `Stopped`, and `NgraphError` for what the agent cannot do, or when it dies again and again.
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
                        tell(message)
                return list(rows.items())
            except AgentEnded as end:
                reason = str(end)
                self._end(agent)
                if task.assignment.client in self._unwanted:
                    raise Stopped from None
            finally:
                self._end_when_idle()
        raise NgraphError(f"the process that measures died {DEATHS} times: {reason or 'it said nothing'}")

    def stop(self, client: str) -> None:
        """Nothing is measured for this client any more."""
        self._unwanted.add(client)
        with self._lock:
            agent = self._agent
        if agent is not None and agent.assignment.client == client:
            agent.stop()

    def close(self) -> None:
        """End the agent; what it measures is left."""
        with self._lock:
            agent, self._agent = self._agent, None
        if agent is not None:
            self._unwanted.add(agent.assignment.client)
            agent.close()

    def _started(self, assignment: Assignment, folder: DeviceFolder) -> AgentProcess:
        """The assignment's agent. Raises `Stopped`."""
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
