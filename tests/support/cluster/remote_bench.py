"""A remote bench over a fake dispatch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_ngraph.bench.asked import NOTHING, Asked
from pytest_ngraph.bench.progress import Silent
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.client.remote import RemoteBench
from pytest_ngraph.cluster.client.sent_groups import SentGroups
from pytest_ngraph.cluster.project import Packed
from pytest_ngraph.machine.devices import BUILT_IN
from pytest_ngraph.machine.machine import CXX
from pytest_ngraph.record import Phase
from pytest_ngraph.settings import Settings

ROOT = Path("/home/somebody/project")
KNOWN = {"fingerprint": "f", "torch": "2.6", CXX: "g++ 12"}


class Heard(Silent):
    def __init__(self) -> None:
        self.phases: list[tuple[Case, Phase]] = []
        self.waits: list[str] = []

    def waiting(self, reason: str) -> None:
        self.waits.append(reason)

    def phase(self, case: Case, phase: Phase) -> None:
        self.phases.append((case, phase))


def bench(
    way: Any,
    *groups: list[Case],
    heard: Heard | None = None,
    devices: list[str] | None = None,
    asked: Asked = NOTHING,
    again: dict[Case, str] | None = None,
    notes: list[str] | None = None,
) -> RemoteBench:
    described = [] if devices is None else devices
    work = WorkOrder(
        settings=Settings(),
        profiles=BUILT_IN,
        groups=groups,
        progress=heard or Heard(),
        run_id=lambda: "run",
        enter=lambda case, phase: None,
        describe_device=lambda device, environment: described.append(f"{device} {environment['fingerprint']}"),
        asked=asked,
        note=([] if notes is None else notes).append,
        measured_again=({} if again is None else again).__setitem__,
    )
    project = LocalProject(root=ROOT, folder=".", path=(), packed=Packed(digest="d", content=b""))
    return RemoteBench(way, SentGroups(work, "client", project), work, lambda device: KNOWN)
