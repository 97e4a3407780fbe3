"""Keeps an agent from one task to the next, and starts another when it dies."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device.agent_process import AgentEnded, AgentProcess
from pytest_ngraph.cluster.device.folder import DeviceFolder
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine.machine import machine_now

IDLE_S = 60.0
"""Time after which an agent with nothing to do is ended."""
DEATHS = 4
"""How many agents may die one after another without a new record before a task fails. A case that kills them is given
up earlier, after as many deaths as its client allows."""
CLIENTS = 1000
"""How many clients that want nothing more are remembered, the latest ones."""
Row = tuple[int, dict[str, Any]]
"""A case's index in its task, and its record as data."""


class Measured(NamedTuple):
    """What came of a task.

    Attributes:
        rows: its records.
        again: why stored records of cases did not stand any more, by the case's index.
    """

    rows: list[Row]
    again: list[tuple[int, str]]


class Stopped(Exception):
    """The client no longer wants the task."""


class Resident:
    """Holds at most one agent, that of the session which measured last.

    `measure` serves one task at a time; `stop` and `close` may be called from other threads at any time.
    """

    def __init__(self) -> None:
        self._agent: AgentProcess | None = None
        self._power: tuple[str, ...] = ()
        self._lock = threading.Lock()
        self._unwanted: dict[str, None] = {}
        self._idle: threading.Timer | None = None

    def measure(self, task: Task, folder: DeviceFolder, report: Callable[[dict[str, Any]], None]) -> Measured:
        """Return the records of a task, and why stored ones did not stand.

        Args:
            task: what to measure.
            folder: the device's folder.
            report: called with each message on the agent's progress.

        Raises:
            Stopped: the client no longer wants the task.
            NgraphError: the agent cannot do the task, or `DEATHS` agents died.
        """
        rows: dict[int, dict[str, Any]] = {}
        again: dict[int, str] = {}
        allowed = max(DEATHS, task.assignment.retries + 2)
        deaths = 0
        while deaths < allowed:
            known = len(rows)
            agent = self._started(task.assignment, folder)
            try:
                for message in agent.measure(task):
                    if "record" in message:
                        rows[message["case"]] = message["record"]
                    elif "again" in message:
                        again.setdefault(message["case"], message["again"])
                    else:
                        report(message)
                return Measured(list(rows.items()), list(again.items()))
            except AgentEnded as end:
                reason = str(end)
                self._end(agent)
                if task.assignment.client in self._unwanted:
                    raise Stopped from None
                deaths = 1 if len(rows) > known else deaths + 1
            except NgraphError:
                raise
            except BaseException:  # what it has not answered yet would be taken for answers to the next task
                self._end(agent)
                raise
            finally:
                self._end_when_idle()
        raise NgraphError(f"the measuring process died {deaths} times: {reason or 'it printed nothing'}")

    def stop(self, client: str) -> None:
        """Stop measuring for this client, now and from now on."""
        with self._lock:
            self._refuse(client)
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
                self._refuse(agent.assignment.client)
        if agent is not None:
            agent.close()

    def _started(self, assignment: Assignment, folder: DeviceFolder) -> AgentProcess:
        """Return the assignment's agent, started if need be. Raises `Stopped`.

        An agent knows its machine as it was set when it started. If it is set otherwise since, another one is started.
        """
        power = machine_now().power
        with self._lock:
            if assignment.client in self._unwanted:
                raise Stopped
            self._keep_timer(None)
            agent = self._agent
            if agent is None or not agent.alive or (agent.assignment, self._power) != (assignment, power):
                if agent is not None:
                    agent.close()
                self._agent = agent = AgentProcess(assignment, folder)
                self._power = power
            return agent

    def _end(self, agent: AgentProcess) -> None:
        agent.close()
        with self._lock:
            if self._agent is agent:
                self._agent = None

    def _end_when_idle(self) -> None:
        with self._lock:
            if self._agent is not None:
                timer = threading.Timer(IDLE_S, lambda: self._end_idle(timer))
                timer.daemon = True
                self._keep_timer(timer)
                timer.start()

    def _end_idle(self, timer: threading.Timer) -> None:
        """End the agent, unless a task began when the time was just over: it can no longer cancel the timer then."""
        with self._lock:
            if self._idle is not timer:
                return
            agent, self._agent, self._idle = self._agent, None, None
        if agent is not None:
            agent.close()

    def _keep_timer(self, timer: threading.Timer | None) -> None:
        """Replace the timer that ends the agent. What it began to do before is void. The lock is held."""
        if self._idle is not None:
            self._idle.cancel()
        self._idle = timer

    def _refuse(self, client: str) -> None:
        """Note that a client wants nothing more. The lock is held."""
        self._unwanted[client] = None
        if len(self._unwanted) > CLIENTS:
            del self._unwanted[next(iter(self._unwanted))]
