"""What a client asks of a device, as plain data: an `Assignment` for each session, a `Task` for each group of cases."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.case import Case
from pytest_ngraph.settings import Explained

PLACE = Path("/.pytest-ngraph-project")
"""Stands for the project's top folder in every path that is sent, because it differs between machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseAssignment:
    """What cases are compared with: another project.

    Attributes:
        name: the base as shown to users.
        identity: as in `bench.beside_base.base.Base`.
        project: digest of its archive.
        rule: `gate.Rule` as data.
        measures_equals: as in `bench.beside_base.base.Base`.
        explain: which cases are profiled beside their base (`settings.Explained`).
    """

    name: str
    identity: str
    project: str
    rule: dict[str, Any]
    measures_equals: bool
    explain: Explained


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What all tasks of a session have in common on one device.

    Attributes:
        session: id of the client's run; empty if results are not to be kept.
        client: id of the process that asks.
        project: digest of the project's archive.
        folder: the current folder, relative to the project's top folder.
        path: folders to import modules from, also relative to it, and `relocation.STANDARD_LIBRARY` among them.
        settings: `Settings` as data.
        device: `Device` as data.
        retries: how often a case is measured again whose process died while it ran.
        retry_failed: whether cases are measured again that failed for an earlier client in a way that may have been
            chance.
        threads: the most threads to compute with.
        base: what cases are compared with, if anything.
    """

    session: str
    client: str
    project: str
    folder: str
    path: tuple[str, ...]
    settings: dict[str, Any]
    device: dict[str, Any]
    retries: int
    retry_failed: bool
    threads: int | None = None
    base: BaseAssignment | None = None

    @property
    def projects(self) -> list[str]:
        """The digests of all archives that the device needs."""
        return [self.project, *([self.base.project] if self.base else [])]

    @property
    def run_id(self) -> str:
        """Id of the run in which a device keeps results.

        It is the same for all assignments of a session whose results can replace each other, whichever process asks.
        """
        data = self.to_dict()
        for of_the_client in ("client", "retries", "retry_failed"):
            del data[of_the_client]
        if data["base"]:
            data["base"].pop("rule")  # decides when to stop, not what is measured
        return f"{self.session}-{hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the assignment as JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Assignment:
        """Rebuild an assignment from the data of `to_dict`."""
        base = BaseAssignment(**data["base"]) if data["base"] else None
        return cls(**data | {"path": tuple(data["path"]), "base": base})


ASKED = ("alone", "calls", "tails", "served", "profiled", "figures")
"""What may be asked of cases, as fields of `Task` and `bench.asked.Asked`. Compiling is timed at home only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One group of cases to measure.

    Attributes:
        group: the group's number at the client.
        bases: the base's case of each case that has one, by the case's index in `cases`.
        alone: indices of the cases whose head and base are also launched alone.
        calls: indices of the cases whose single calls are timed.
        tails: indices of the cases whose single calls are compared with the base's.
        served: indices of the cases whose costs to serve are measured.
        profiled: indices of the cases whose time is profiled.
        figures: indices of the cases that are measured even if they equal their base's, because something reads them.
        by: who asks: the name in the client's certificate, or else `user@host`. It is what the client says.
        whole: how many cases the run has of the group: if these are fewer, they cannot answer the group's question.
    """

    assignment: Assignment
    group: int
    cases: tuple[Case, ...]
    bases: dict[int, Case]
    alone: tuple[int, ...]
    calls: tuple[int, ...]
    tails: tuple[int, ...]
    served: tuple[int, ...]
    profiled: tuple[int, ...]
    figures: tuple[int, ...]
    by: str = ""
    whole: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the task as JSON-ready data."""
        return {
            "assignment": self.assignment.to_dict(),
            "group": self.group,
            "cases": [case.to_dict() for case in self.cases],
            "bases": [[place, case.to_dict()] for place, case in self.bases.items()],
            **{name: list(getattr(self, name)) for name in ASKED},
            "by": self.by,
            "whole": self.whole,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Task:
        """Rebuild a task from the data of `to_dict`."""
        return cls(
            assignment=Assignment.from_dict(data["assignment"]),
            group=data["group"],
            cases=tuple(Case.from_dict(case) for case in data["cases"]),
            bases={place: Case.from_dict(case) for place, case in data["bases"]},
            **{name: tuple(data[name]) for name in ASKED},
            by=data["by"],
            whole=data.get("whole", 0),
        )
