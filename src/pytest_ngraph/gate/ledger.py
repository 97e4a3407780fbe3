"""The verdicts of a run, and what of its level they leave to those that come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic

from pytest_ngraph.gate.holm import AnyRuling, Subject, holm
from pytest_ngraph.gate.rule import Rule


class Ledger(Generic[Subject, AnyRuling]):
    """verdicts: those by now. judge: what makes a verdict of what was measured of a subject."""

    def __init__(self, rule: Rule, judge: Callable[[Subject, Rule], AnyRuling]) -> None:
        self.rule = rule
        self.verdicts: dict[Subject, AnyRuling] = {}
        self._judge = judge
        self._reserved = 0

    def reserve(self, subjects: int) -> None:
        """So many others, in another ledger, have a part in this one's level."""
        self._reserved = subjects

    def share_among(self, subjects: int) -> None:
        """The run judges so many here."""
        self.rule = replace(self.rule, cells=max(1, subjects + self._reserved))

    def enter(self, subject: Subject) -> AnyRuling:
        """Come to a verdict on what was measured; anew on what was judged before."""
        before = self.verdicts.get(subject)
        rejected = self.rule.rejected - (before is not None and before.name == "regressed")
        found = self.verdicts[subject] = self._judge(subject, replace(self.rule, rejected=rejected))
        self.rule = replace(self.rule, rejected=rejected + (found.name == "regressed"))
        return found

    def settle(self) -> None:
        """Judge again in the light of all verdicts."""
        self.verdicts = holm(self.verdicts, self._judge, self.rule)
