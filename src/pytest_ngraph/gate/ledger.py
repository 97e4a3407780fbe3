"""The verdicts of a run, and what of its level they leave to those that come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pytest_ngraph.case import Case
from pytest_ngraph.gate.holm import holm
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Verdict


class Ledger:
    """verdicts: those by now. judge: what makes a verdict of what was measured of a case."""

    def __init__(self, rule: Rule, judge: Callable[[Case, Rule], Verdict]) -> None:
        self.rule = rule
        self.verdicts: dict[Case, Verdict] = {}
        self._judge = judge

    def share_among(self, cells: int) -> None:
        """The run compares so many cells."""
        self.rule = replace(self.rule, cells=max(1, cells))

    def enter(self, case: Case) -> None:
        """Come to a verdict on a case that was measured."""
        found = self.verdicts[case] = self._judge(case, self.rule)
        self.rule = replace(self.rule, rejected=self.rule.rejected + (found.name == "regressed"))

    def settle(self) -> list[Verdict]:
        """Judge again in the light of all verdicts. Returns those that are regressed only now."""
        before = self.verdicts
        self.verdicts = {each.case: each for each in holm(list(before.values()), self._judge, self.rule)}
        return [v for case, v in self.verdicts.items() if v.name == "regressed" and before[case].name != "regressed"]
