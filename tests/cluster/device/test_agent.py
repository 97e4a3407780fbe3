"""Which stored records an agent returns, and what it measures again; without workers."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from launching import exact
from synthetic import case, measured

from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import Assignment, Task
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.device import agent as agents
from pytest_ngraph.cluster.device.agent import Agent, SentProgress
from pytest_ngraph.comparison import AloneLaunch, CallLaunch, Comparison
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.record import Record
from pytest_ngraph.settings import Settings
from pytest_ngraph.system.relocation import STANDARD_LIBRARY

ONE = case("identity")
ASSIGNMENT = Assignment(
    session="s",
    client="c",
    project="a1",
    folder=".",
    path=(),
    settings=Settings().to_dict(),
    device=Device(name="xeon").to_dict(),
    retries=1,
    retry_failed=False,
)
COMPARED = Comparison(launches=(exact(0.0),))
ALONE = AloneLaunch(arm="head", compile_s=None, cpu_percent=1.0, worker_memory_bytes=1)
CALLS = CallLaunch(base=(0.1,), head=(0.1,))
Again = Callable[..., bool]


@pytest.fixture
def again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Again]:
    """Return whether a case is measured again of which the device has this record, and this is asked."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    agent = Agent(ASSIGNMENT, tmp_path, None, tmp_path / "store", lambda message: None)
    ran: list[Case] = []

    def run(cases: Sequence[Case]) -> list[Record]:
        ran.extend(cases)
        return []

    def found(record: Record, **asked: tuple[int, ...]) -> bool:
        nothing = dict.fromkeys(("alone", "calls", "tails", "served", "profiled", "figures"), ())
        monkeypatch.setattr(agent._results, "of", lambda case, follows_from: record)
        monkeypatch.setattr(agent, "_bench", SimpleNamespace(run=run, close=lambda: None))
        ran.clear()
        agent.measure(Task(assignment=ASSIGNMENT, group=0, cases=(ONE,), bases={}, **(nothing | asked)))  # type: ignore[arg-type]
        return ran == [ONE]

    yield found
    agent.close()


def test_the_projects_folders_shadow_nothing_of_pythons_unless_they_do_at_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard = os.path.realpath(sysconfig.get_path("stdlib"))
    for folder in ("client/tests", "device/tests"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "client")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "client/tests"), standard, "/site-packages"])
    sent = LocalProject.read(tmp_path / "client", ()).path
    assert sent == ("tests", STANDARD_LIBRARY, "src", ".")
    project = tmp_path / "device"
    monkeypatch.setattr(sys, "path", ["", standard, "/site-packages"])
    Agent(dataclasses.replace(ASSIGNMENT, path=sent), project, None, tmp_path / "store", lambda message: None).close()
    assert sys.path == [f"{project}/tests", standard, f"{project}/src", f"{project}", "/site-packages"]


@pytest.mark.parametrize(
    ("asked", "has"),
    [
        ("alone", {"alone": (ALONE,)}),
        ("alone", {"alone_problem": "no memory"}),
        ("tails", {"calls": (CALLS,)}),
        ("tails", {"calls_problem": "no memory"}),
    ],
)
def test_a_record_that_lacks_what_is_asked_beside_a_base_is_measured_again(
    again: Again, asked: str, has: dict[str, Any]
) -> None:
    """As after a resume with another threshold."""
    record = dataclasses.replace(measured(ONE, 0.1, calls=(0.1,)), comparison=COMPARED)
    assert not again(record)
    assert again(record, **{asked: (0,)})
    assert not again(dataclasses.replace(record, comparison=dataclasses.replace(COMPARED, **has)), **{asked: (0,)})


def test_a_record_that_lacks_what_is_asked_is_measured_again(again: Again) -> None:
    record = measured(ONE, 0.1)
    assert not again(record)
    for asked in ("calls", "served", "profiled"):
        assert again(record, **{asked: (0,)})
    unchanged = Record.unchanged(ONE, COMPARED, record.model)
    assert not again(unchanged)
    assert again(unchanged, figures=(0,))


@pytest.mark.parametrize(("whole", "known"), [(3, 3), (0, 1)])
def test_a_part_of_a_group_is_known_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int, known: int
) -> None:
    """As what a resumed run still lacks: it cannot answer who is the fastest, and is measured until it is precise."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    agent = Agent(ASSIGNMENT, tmp_path, None, tmp_path / "store", lambda message: None)
    bench = agent._bench
    monkeypatch.setattr(bench, "run", lambda cases: [])
    nothing: dict[str, Any] = dict.fromkeys(("alone", "calls", "tails", "served", "profiled", "figures"), ())
    agent.measure(Task(assignment=ASSIGNMENT, group=0, cases=(ONE,), bases={}, **nothing, whole=whole))
    assert bench._knowledge.groups == {ONE.group: known}
    agent.close()


def test_progress_of_a_base_whose_options_differ_is_left_out() -> None:
    """Its case is none of the task."""
    sent: list[Any] = []
    progress = SentProgress(sent.append)
    progress.numbers = {ONE: 0}
    for of in (case("identity:graph=program"), ONE):
        progress.phase(of, "compile")
        progress.doing(of, "3 of 4")
        progress.measuring(of, 0.5)
    about_one: list[dict[str, Any]] = [{"phase": "compile"}, {"compiling": "3 of 4"}, {"measuring": 0.5}]
    assert sent == [{"case": 0} | each for each in about_one]


def test_what_goes_wrong_in_the_bench_is_the_answer_and_ends_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the agent only died, the device would measure the whole group again and again."""
    closed: list[bool] = []

    def fail(task: Task) -> None:
        raise KeyError("a case")

    fake = SimpleNamespace(measure=fail, close=lambda: closed.append(True))
    monkeypatch.setattr(agents, "Agent", lambda *given: fake)
    monkeypatch.setattr(Task, "from_dict", lambda data: data)
    start = {"assignment": ASSIGNMENT.to_dict(), "project": str(tmp_path), "base": "", "store": str(tmp_path)}
    sent: list[Any] = []
    agents._serve(io.StringIO("\n".join(json.dumps(each) for each in (start, {}, {}))), sent.append)
    (answer,) = sent
    assert answer["failed"].startswith("the measuring process failed: KeyError: 'a case'")
    assert "in fail" in answer["failed"]
    assert closed == [True]
