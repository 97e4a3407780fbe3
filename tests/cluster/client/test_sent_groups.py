"""What is sent to devices, of a base and of a group."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from synthetic import case

from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.processes.home import Home
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.rounds.goal import Knowledge
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import Task
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.client.sent_groups import SentGroups
from pytest_ngraph.cluster.client.site import ClusterSite
from pytest_ngraph.cluster.project import pack
from pytest_ngraph.gate import Rule
from pytest_ngraph.gate.decision import ByRule
from pytest_ngraph.machine.devices import Device
from pytest_ngraph.settings import Settings

TVM = case("tvm", device="cpu")


class Nothing:
    """A link to a cluster without devices."""

    address = "tcp://head:8786"
    engine, user = "", "anna@head"
    unreadable: dict[str, str] = {}  # noqa: RUF012 (never changed)

    def __init__(self, endpoint: Any) -> None:
        del endpoint

    def present(self) -> list[Any]:
        return []

    def listen(self, topic: str, hear: Any) -> None:
        """Do nothing: no device sends messages."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project and its base, both with files that are not to be sent; the base has a secret."""
    for tree in ("head", "base"):
        (tmp_path / tree / "src").mkdir(parents=True)
        (tmp_path / tree / "src" / "nets.py").write_text(tree)
        (tmp_path / tree / "notes.txt").touch()
    (tmp_path / "base" / "src" / ".env").touch()
    monkeypatch.chdir(tmp_path / "head")
    return tmp_path / "head"


def work(project: Path) -> WorkOrder:
    base = Base(
        name="main at 1a2b3c4",
        identity="main",
        home=Home(folder=project.with_name("base")),
        instead_of=(project.with_name("base"), project),
        case_of=lambda case: None,
        at_base=lambda case: case,
        decides=ByRule(Rule()),
    )
    return WorkOrder(
        settings=Settings(smoke=True),
        profiles={},
        groups=[],
        progress=Silent(),
        run_id=lambda: "run",
        enter=lambda case, phase: None,
        describe_device=lambda device, environment: None,
        base=base,
        rule=Rule(),
    )


def test_only_what_is_to_be_sent_of_the_base_travels(project: Path) -> None:
    packed = pack(project, send=["src"])
    local = LocalProject(root=project, folder=".", path=(), packed=packed)
    made = SentGroups(work(project), "client", local, send=["src"])
    (base,) = [each for digest, each in made.archives.items() if digest != packed.digest]
    assert (list(base.sizes), list(base.left_out)) == (["src/nets.py"], ["src/.env"])


def test_secrets_of_the_base_are_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ngraph.cluster.client.site.Link", Nothing)
    monkeypatch.setattr("pytest_ngraph.cluster.engine_settings.settle", lambda: None)
    site = ClusterSite(Any, project, send=["src"])  # type: ignore[arg-type]  # not used here
    with pytest.warns(UserWarning, match=r"not sent to devices, of main at 1a2b3c4, since .*: src/\.env \(its name\)"):
        site.open(work(project))


@pytest.mark.parametrize(("groups", "whole"), [({}, 1), ({TVM.group: 4}, 4)])
def test_a_part_of_a_group_is_sent_as_one(project: Path, groups: dict[Case, int], whole: int) -> None:
    order = dataclasses.replace(
        work(project), base=None, profiles={"cpu": Device(name="cpu")}, knowledge=Knowledge(groups=groups)
    )
    sent = SentGroups(order, "client", LocalProject.read(project, ())).make([TVM])
    assert Task.from_dict(sent.data).whole == whole
