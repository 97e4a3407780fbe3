"""An agent from one task to the next, with a fake process in place of it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.device import resident
from pytest_ngraph.cluster.device.agent_process import AgentEnded
from pytest_ngraph.cluster.device.resident import DEATHS, Resident, Stopped
from pytest_ngraph.errors import NgraphError
from pytest_ngraph.machine import machine

FOLDER: Any = None
NOTHING_HEARD: list[dict[str, Any]] = []


class Agent:
    """A fake agent process. It answers a task with what the test has put into `answers`, or ends."""

    started: list[Agent]
    answers: list[list[dict[str, Any]] | None]

    def __init__(self, assignment: Assignment, folder: Any) -> None:
        self.assignment = assignment
        self.alive = True
        self.measuring = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        Agent.started.append(self)

    def measure(self, task: Task) -> Iterator[dict[str, Any]]:
        self.measuring.set()
        self.goes_on.wait(timeout=60)
        answer = Agent.answers.pop(0) if Agent.answers else [{"case": 0, "record": {}}]
        if not self.alive or answer is None:
            raise AgentEnded("killed")
        for message in answer:
            if message.get("record") == "killed":
                raise AgentEnded("killed")
            yield message

    def stop(self) -> None:
        self.alive = False
        self.goes_on.set()

    close = stop


class Timer:
    """A timer that the test fires."""

    made: list[Timer]

    def __init__(self, interval: float, function: Any) -> None:
        self.interval, self.fire, self.cancelled, self.daemon = interval, function, False, False
        Timer.made.append(self)

    def start(self) -> None:
        """Do nothing: the test fires it."""

    def cancel(self) -> None:
        self.cancelled = True


@pytest.fixture(autouse=True)
def _faked(monkeypatch: pytest.MonkeyPatch) -> None:
    Agent.started, Agent.answers, Timer.made = [], [], []
    monkeypatch.setattr(resident, "AgentProcess", Agent)
    monkeypatch.setattr(threading, "Timer", Timer)


def task(client: str = "first", retries: int = 1) -> Task:
    assignment = Assignment(
        session="s", client=client, project="p", folder=".", path=(), settings={}, device={}, retries=retries,
        retry_failed=False,
    )  # fmt: skip
    nothing: dict[str, Any] = dict.fromkeys(("alone", "calls", "tails", "served", "profiled", "figures"), ())
    return Task(assignment=assignment, group=0, cases=(case(), case("tvm")), bases={}, **nothing)


def heard(message: dict[str, Any]) -> None:
    NOTHING_HEARD.append(message)


def test_a_timer_that_fires_as_a_task_begins_does_not_end_its_agent() -> None:
    ours = Resident()
    ours.measure(task(), FOLDER, heard)
    (agent,), (late,) = Agent.started, Timer.made
    agent.goes_on.clear()
    agent.measuring.clear()
    done: list[Any] = []
    begun = threading.Thread(target=lambda: done.append(ours.measure(task(), FOLDER, heard)))
    begun.start()
    assert agent.measuring.wait(timeout=60)
    assert late.cancelled
    late.fire()  # it was already over when it was cancelled
    assert agent.alive
    agent.goes_on.set()
    begun.join(timeout=60)
    assert len(done) == 1
    assert Agent.started == [agent]


def test_an_agent_without_work_is_ended_and_the_next_task_starts_another() -> None:
    ours = Resident()
    ours.measure(task(), FOLDER, heard)
    Timer.made[-1].fire()
    assert not Agent.started[0].alive
    ours.measure(task(), FOLDER, heard)
    assert len(Agent.started) == 2


def test_after_a_setting_of_the_machine_another_agent_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent stamps its records with the fingerprint that the machine had when it started."""
    power = ["nvpmodel 15W"]
    monkeypatch.setattr(machine, "_power", lambda gpus: tuple(power))
    ours = Resident()
    for setting in ("nvpmodel 15W", "nvpmodel 15W", "nvpmodel MAXN", "nvpmodel MAXN"):
        power[:] = [setting]
        assert ours.measure(task(), FOLDER, heard).rows == [(0, {})]
    assert [agent.alive for agent in Agent.started] == [False, True]


def test_two_clients_take_turns_and_stopping_one_leaves_the_other_alone() -> None:
    ours = Resident()
    for client in ("first", "second", "first"):
        assert ours.measure(task(client), FOLDER, heard).rows == [(0, {})]
    assert [agent.assignment.client for agent in Agent.started] == ["first", "second", "first"]
    assert [agent.alive for agent in Agent.started] == [False, False, True]
    ours.stop("second")
    assert Agent.started[-1].alive
    with pytest.raises(Stopped):
        ours.measure(task("second"), FOLDER, heard)
    assert ours.measure(task("first"), FOLDER, heard).rows
    ours.stop("first")
    assert not Agent.started[-1].alive


def test_clients_that_want_nothing_more_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resident, "CLIENTS", 2)
    ours = Resident()
    for client in ("one", "two", "three"):
        ours.stop(client)
    assert list(ours._unwanted) == ["two", "three"]


def test_why_stored_records_did_not_stand_comes_with_the_records() -> None:
    Agent.answers = [
        [{"case": 1, "again": "weights.pt changed"}, {"case": 1, "record": "killed"}],
        [{"case": 0, "record": {"a": 1}}, {"case": 1, "record": {"b": 2}}],
    ]
    assert Resident().measure(task(), FOLDER, heard) == ([(0, {"a": 1}), (1, {"b": 2})], [(1, "weights.pt changed")])


@pytest.mark.parametrize("retries", [1, 6])
def test_agents_may_die_as_often_as_the_client_allows_retries(retries: int) -> None:
    Agent.answers = [None] * (retries + 1)
    assert Resident().measure(task(retries=retries), FOLDER, heard).rows == [(0, {})]


def test_a_task_whose_agents_die_without_any_record_fails() -> None:
    Agent.answers = [None] * 100
    with pytest.raises(NgraphError, match=f"the measuring process died {DEATHS} times: killed"):
        Resident().measure(task(), FOLDER, heard)
    assert len(Agent.started) == DEATHS


def test_what_an_agent_still_has_to_say_of_a_task_that_broke_off_is_no_answer_to_the_next() -> None:
    def breaks(message: dict[str, Any]) -> None:
        raise RuntimeError("the connection is closed")

    ours = Resident()
    Agent.answers = [[{"waiting": "another process is measuring"}, {"case": 0, "record": {"of": "the first"}}]]
    with pytest.raises(RuntimeError):
        ours.measure(task(), FOLDER, breaks)
    assert not Agent.started[0].alive
    assert ours.measure(task(), FOLDER, heard).rows == [(0, {})]
    assert len(Agent.started) == 2


def test_a_group_of_cases_that_kill_their_agents_is_worked_off() -> None:
    """Each is given up by itself after its retries, so that more agents die than one case may kill."""
    killers = dataclasses.replace(task(), cases=tuple(case(batch_size=size) for size in range(1, 6)))
    for place in range(len(killers.cases)):
        Agent.answers += [None, None, [{"case": place, "record": {}}, {"case": place, "record": "killed"}]]
    Agent.answers.append([])
    assert len(Resident().measure(killers, FOLDER, heard).rows) == len(killers.cases)
