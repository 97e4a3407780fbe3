"""The interface through which a session gets verdicts on its records, whatever they are compared with."""

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
    """Compares records with a base.

    Attributes:
        problem: what a reader of the verdicts must know, in one line.
    """

    problem: str

    @property
    def rule(self) -> Rule:
        """The rule for the next verdict."""
        ...

    def reserve(self, metrics: int) -> None:
        """Reserve a share of the error level for this many metrics of the run, besides its cases."""
        ...

    @property
    def verdicts(self) -> dict[Case, Verdict]:
        """The verdicts so far, by the head's case."""
        ...

    @property
    def description(self) -> str:
        """The base, in one line."""
        ...

    def expect(self, cases: Collection[Case]) -> None:
        """Announce the head's cases."""
        ...

    def judge(self, record: Record) -> None:
        """Give a verdict on a record, if there is something to compare it with."""
        ...

    def conclude(self, *, whole: bool = True) -> list[Verdict]:
        """Judge again, knowing all verdicts. Return those on cases without a test, which fail the run themselves.

        Args:
            whole: whether the session went to its end.
        """
        ...


class CaseJudge(ABC):
    """Common base of judges: the head's records by case, and the ledger of the verdicts on them."""

    def __init__(self, rule: Rule) -> None:
        self._heads: dict[Case, Record] = {}
        self._ledger = Ledger(rule, self._verdict)

    @property
    def rule(self) -> Rule:
        """The rule for the next verdict."""
        return self._ledger.rule

    @property
    def verdicts(self) -> dict[Case, Verdict]:
        """The verdicts so far."""
        return self._ledger.verdicts

    def reserve(self, metrics: int) -> None:
        """Reserve a share of the error level for this many metrics of the run, besides its cases."""
        self._ledger.reserve(metrics)

    @abstractmethod
    def _verdict(self, case: Case, rule: Rule) -> Verdict:
        """Return the verdict on one of the head's cases."""
