"""Turns a session's groups of cases into tasks for devices, and their answers into records."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_ngraph.bench.beside_base.base import Base
from pytest_ngraph.bench.work_order import WorkOrder
from pytest_ngraph.case import Case
from pytest_ngraph.cluster.assignment import ASKED, Assignment, BaseAssignment, Task
from pytest_ngraph.cluster.client import shapes
from pytest_ngraph.cluster.client.local_project import LocalProject
from pytest_ngraph.cluster.project import Packed, pack
from pytest_ngraph.record import Record


@dataclass(slots=True)
class SentGroup:
    """A group that is sent to a device.

    Attributes:
        number: the group's number at this client.
        cases: its cases, with this machine's paths.
        data: its `Task` as data.
        tries: how often it came back without records.
        undelivered: why the last delivery that it waited for was lost on the way; empty if it was not.
        only: names of the machines that it can go to, by their addresses; empty for all of its device.
    """

    number: int
    cases: tuple[Case, ...]
    data: dict[str, Any]
    tries: int = 0
    undelivered: str = ""
    only: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def device(self) -> str:
        return self.cases[0].device


class SentGroups:
    """The groups of one session, as they are sent. Raises `UsageError` if the base cannot be packed.

    Args:
        work: what is to be measured.
        client: id of this process for the devices.
        project: the project under test.
        by: who asks.
        send: patterns of the files of the base that are packed; without any, all.

    Attributes:
        client: id of this process for the devices.
    """

    def __init__(
        self, work: WorkOrder, client: str, project: LocalProject, by: str = "", send: Sequence[str] = ()
    ) -> None:
        self.client = client
        self._work = work
        self._project = project
        self._by = by
        self._send = send
        self._made: list[SentGroup] = []
        self._archives = {project.packed.digest: project.packed}
        self._common: dict[str, Any] = {
            "session": "" if work.settings.smoke else work.run_id(),
            "client": client,
            "project": project.packed.digest,
            "folder": project.folder,
            "path": project.path,
            "settings": work.settings.to_dict(),
            "retries": work.retries,
            "retry_failed": work.retry_failed,
            "threads": work.threads,
            "base": self._base(work.base) if work.base else None,
        }

    @property
    def archives(self) -> Mapping[str, Packed]:
        """The archives that devices need, by digest."""
        return self._archives

    def make(self, cases: Sequence[Case]) -> SentGroup:
        """Return a group as it is sent."""
        base = self._work.base
        case_of = base.case_of if base else lambda case: None
        is_read = base.measures_unchanged if base else lambda case: True
        asked = {name: [case in getattr(self._work.asked, name) for case in cases] for name in ASKED}
        asked["figures"] = list(map(is_read, cases))
        task = Task(
            assignment=Assignment(**self._common, device=self._work.profiles[cases[0].device].to_dict()),
            group=len(self._made),
            cases=tuple(self._project.away(case) for case in cases),
            bases={
                place: self._project.away(base_case)
                for place, case in enumerate(cases)
                if (base_case := case_of(case)) is not None
            },
            **{name: tuple(place for place, is_asked in enumerate(own) if is_asked) for name, own in asked.items()},
            by=self._by,
            whole=self._work.knowledge.groups.get(cases[0].group, len(cases)),
        )
        group = SentGroup(len(self._made), tuple(cases), task.to_dict())
        self._made.append(group)
        return group

    def case(self, message: Mapping[str, Any]) -> Case | None:
        """Return the case that a device's message is about; None if it is about no single case."""
        place = message.get("case")
        return None if place is None else self._made[message["group"]].cases[place]

    def record(self, group: SentGroup, place: int, data: Any) -> Record:
        """Return the record that a device sent, with this machine's paths.

        Raises:
            ValueError: it is no record, one with impossible values, or that of another case.
            LookupError, TypeError: the group has no case of this index.
        """
        case, record = group.cases[place], shapes.record(data)
        if record.case != self._project.away(case):
            raise ValueError(f"it sent the record of {record.case.id} for {case.id}")
        follows_from = dict(record.follows_from)
        if follows_from:
            follows_from["workload"] = case.model_label
            follows_from["files"] = {
                self._project.home(path): digest for path, digest in follows_from.get("files", {}).items()
            }
        return dataclasses.replace(record, case=case, follows_from=follows_from)

    def _base(self, base: Base) -> BaseAssignment:
        assert base.instead_of is not None
        assert self._work.rule is not None
        packed = pack(base.instead_of[0], send=self._send)
        self._archives[packed.digest] = packed
        return BaseAssignment(
            name=base.name,
            identity=base.identity,
            project=packed.digest,
            rule=self._work.rule.to_dict(),
            measures_equals=base.measures_equals,
            explain=base.explain,
        )
