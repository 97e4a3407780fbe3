"""Holm's procedure (1979) over all verdicts of a run, once everything is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import VerdictName


class Ruling(Protocol):
    """A verdict on any subject.

    Attributes:
        p: one-sided p-value of "no worse than is tolerated".
    """

    @property
    def name(self) -> VerdictName: ...

    @property
    def p(self) -> float: ...


Subject = TypeVar("Subject")
"""What is judged: a case, or a metric of one or several cases."""
AnyRuling = TypeVar("AnyRuling", bound=Ruling)


def holm(
    rulings: Mapping[Subject, AnyRuling], judge: Callable[[Subject, Rule], AnyRuling], rule: Rule
) -> dict[Subject, AnyRuling]:
    """Return the verdicts, in order, after judging the inconclusive ones again.

    Each subject that is called regressed leaves a larger share of the level to the others, including earlier ones. So
    an inconclusive verdict may become regressed.

    Args:
        judge: returns the verdict on a subject by a given rule.
    """
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
