"""The worker's side of an agent that hangs, or is closed while it answers; without a process."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ngraph.cluster.device.agent_process import AgentEnded, AgentProcess


class Stuck:
    """A process that no signal ends."""

    pid = 1 << 30

    def __init__(self) -> None:
        self.stdin, self.stdout = io.BytesIO(), io.BytesIO(b'{"waiting": "one"}\n{"waiting": "two"}\n')

    def terminate(self) -> None:
        """Do nothing."""

    def wait(self, timeout: float | None = None) -> int:
        if timeout is not None:
            raise subprocess.TimeoutExpired("agent", timeout)
        return 0


@pytest.fixture
def stuck(tmp_path: Path) -> AgentProcess:
    made: Any = object.__new__(AgentProcess)
    made._process = Stuck()
    made._stderr = (tmp_path / "stderr").open("w+b")
    made._stderr.close()
    return made  # type: ignore[no-any-return]


def test_a_process_that_no_signal_ends_is_left_behind(stuck: AgentProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, signal: killed.append(pid))
    stuck.stop()
    assert killed == [Stuck.pid]


def test_an_agent_that_is_closed_between_two_messages_has_ended(stuck: AgentProcess) -> None:
    task: Any = SimpleNamespace(to_dict=dict)
    messages = stuck.measure(task)
    assert next(messages) == {"waiting": "one"}
    process: Any = stuck._process
    process.stdout.close()
    with pytest.raises(AgentEnded):
        next(messages)
