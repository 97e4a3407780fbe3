"""What all tasks of a session have in common on one device, as plain data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pytest_ngraph.case import Case

PLACE = Path("/.pytest-ngraph-project")
"""Stands for the project's top folder in every path that travels: it lies elsewhere on every machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseAssignment:
    """What cases are compared with: another project, by the digest of its archive. rule: `gate.Rule` as data.
    measures_equals: as in `bench.base.Base`."""

    name: str
    project: str
    rule: dict[str, Any]
    measures_equals: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """session: the id of the client's run; empty where nothing is to be kept. client: of the process that asks.
    project: the digest of its archive. folder: the current one, relative to the project's. path: where modules are
    looked for, likewise. settings, device: `Settings` and `Device` as data. threads: the most to compute with.
    """

    session: str
    client: str
    project: str
    folder: str
    path: tuple[str, ...]
    settings: dict[str, Any]
    device: dict[str, Any]
    threads: int | None = None
    base: BaseAssignment | None = None

    @property
    def projects(self) -> list[str]:
        """The digests of all archives."""
        return [self.project, *([self.base.project] if self.base else [])]

    @property
    def run_id(self) -> str:
        """Names the run in which a device keeps results: equal where results of one session may stand for each other,
        whichever process asks for them."""
        data = self.to_dict()
        asked_by = data.pop("client")
        assert asked_by == self.client
        if data["base"]:
            data["base"].pop("rule")  # tells when to stop, not what is measured
        return f"{self.session}-{hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]}"

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Assignment:
        """The inverse of `to_dict`."""
        base = BaseAssignment(**data["base"]) if data["base"] else None
        return cls(**data | {"path": tuple(data["path"]), "base": base})


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One group of cases to measure. group: its number with the client. bases: for cases that have one, by their place
    in `cases`, the base's case. alone: places of those of which each arm is launched alone too."""

    assignment: Assignment
    group: int
    cases: tuple[Case, ...]
    bases: dict[int, Case]
    alone: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """The task as JSON-ready data."""
        return {
            "assignment": self.assignment.to_dict(),
            "group": self.group,
            "cases": [case.to_dict() for case in self.cases],
            "bases": [[place, case.to_dict()] for place, case in self.bases.items()],
            "alone": list(self.alone),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Task:
        """The inverse of `to_dict`."""
        return cls(
            assignment=Assignment.from_dict(data["assignment"]),
            group=data["group"],
            cases=tuple(Case.from_dict(case) for case in data["cases"]),
            bases={place: Case.from_dict(case) for place, case in data["bases"]},
            alone=tuple(data["alone"]),
        )
