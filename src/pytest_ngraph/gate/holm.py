"""Holm's procedure (1979) over what a whole run judges, once all is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import VerdictName


class Ruling(Protocol):
    """A verdict on anything. p: one-sided p-value of "no worse than is tolerated"."""

    @property
    def name(self) -> VerdictName: ...

    @property
    def p(self) -> float: ...


Subject = TypeVar("Subject")
"""What is judged: a case, or a metric of some."""
AnyRuling = TypeVar("AnyRuling", bound=Ruling)


def holm(
    rulings: Mapping[Subject, AnyRuling], judge: Callable[[Subject, Rule], AnyRuling], rule: Rule
) -> dict[Subject, AnyRuling]:
    """The verdicts, in order, with those regressed that were inconclusive and now are not: each subject that was called
    regressed leaves more of the level to the others, also to those that came before it. judge: what makes a verdict of
    what was measured of a subject."""
    final = dict(rulings)
    rejected = sum(each.name == "regressed" for each in rulings.values())
    for subject, ruling in sorted(rulings.items(), key=lambda item: item[1].p):
        if ruling.name != "inconclusive":
            continue
        again = judge(subject, replace(rule, rejected=rejected))
        if again.name == "regressed":
            final[subject] = again
            rejected += 1
    return final
