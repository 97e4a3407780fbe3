"""A source of verdicts: what a session hands its records to, whatever they are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Protocol

from pytest_ngraph.case import Case
from pytest_ngraph.gate.changes import Changes
from pytest_ngraph.gate.ledger import Ledger
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

    def expect(self, cases: Collection[Case]) -> None:
        """The head has these."""
        ...

    def judge(self, record: Record) -> None:
        """Come to a verdict on a record, if there is something to compare it with."""
        ...

    def conclude(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. Returns those that fail the run by themselves, on cases that have
        no test."""
        ...


class CaseJudge(ABC):
    """What judges have in common: the head's records by case, and the ledger of the verdicts on them."""

    def __init__(self, rule: Rule) -> None:
        self._heads: dict[Case, Record] = {}
        self._ledger = Ledger(rule, self._verdict)

    @property
    def rule(self) -> Rule:
        """By which the next verdict is called."""
        return self._ledger.rule

    @property
    def verdicts(self) -> dict[Case, Verdict]:
        """Those by now."""
        return self._ledger.verdicts

    def reserve(self, metrics: int) -> None:
        """So many metrics of the run, beside its cases, have a part in the level."""
        self._ledger.reserve(metrics)

    @abstractmethod
    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        """The verdict on one of the heads."""
