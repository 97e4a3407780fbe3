"""The verdicts of a run, and the error level that they leave to the following ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic

from pytest_ngraph.gate.holm import AnyRuling, Subject, holm
from pytest_ngraph.gate.rule import Rule


class Ledger(Generic[Subject, AnyRuling]):
    """Collects verdicts and shares the error level among them.

    Attributes:
        rule: the rule for the next verdict.
        verdicts: the verdicts so far.
    """

    def __init__(self, rule: Rule, judge: Callable[[Subject, Rule], AnyRuling]) -> None:
        """Start without verdicts; `judge` returns the verdict on a subject by a given rule."""
        self.rule = rule
        self.verdicts: dict[Subject, AnyRuling] = {}
        self._judge = judge
        self._reserved = 0

    def reserve(self, subjects: int) -> None:
        """Reserve a share of the error level for this many subjects judged in another ledger."""
        self._reserved = subjects

    def share_among(self, subjects: int) -> None:
        """Share the error level among this many subjects of this ledger, and the reserved ones."""
        self.rule = replace(self.rule, cells=max(1, subjects + self._reserved))

    def enter(self, subject: Subject) -> AnyRuling:
        """Give a verdict on what was measured of a subject; it replaces an earlier verdict on the same subject."""
        before = self.verdicts.get(subject)
        rejected = self.rule.rejected - (before is not None and before.name == "regressed")
        found = self.verdicts[subject] = self._judge(subject, replace(self.rule, rejected=rejected))
        self.rule = replace(self.rule, rejected=rejected + (found.name == "regressed"))
        return found

    def settle(self) -> None:
        """Judge inconclusive subjects again, knowing all verdicts."""
        self.verdicts = holm(self.verdicts, self._judge, self.rule)
