"""A source of verdicts: what a session hands its records to, whatever they are compared with."""

from __future__ import annotations

from typing import Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import Changes
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Verdict
from pytest_ngraph.record import Record


class Judge(Changes, Protocol):
    """Compares records with a base. problem: what a reader of the verdicts must know, in one line."""

    problem: str

    @property
    def rule(self) -> Rule:
        """By which the next verdict is called."""
        ...

    def reserve(self, metrics: int) -> None:
        """So many metrics of the run, beside its cases, have a part in the level."""
        ...

    @property
    def verdicts(self) -> dict[Case, Verdict]:
        """Those by now, by the head's case."""
        ...

    @property
    def description(self) -> str:
        """What is compared with, in one line."""
        ...

    def judge(self, record: Record) -> None:
        """Come to a verdict on a record, if there is something to compare it with."""
        ...

    def conclude(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. Returns those that fail the run and that no test has failed for."""
        ...
