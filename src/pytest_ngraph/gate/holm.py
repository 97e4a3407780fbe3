"""Holm's procedure (1979) over the cells of a whole run, once all are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pytest_ngraph.case import Case
from pytest_ngraph.gate.rule import Rule
from pytest_ngraph.gate.verdict import Verdict


def holm(verdicts: Sequence[Verdict], judge: Callable[[Case, Rule], Verdict], rule: Rule) -> list[Verdict]:
    """The verdicts, in order, with those regressed that were inconclusive and now are not: each cell that was called
    regressed leaves more of the level to the others, also to those that came before it. judge: what makes a verdict of
    what was measured of a case."""
    final = {each.case: each for each in verdicts}
    rejected = sum(each.name == "regressed" for each in verdicts)
    for candidate in sorted(verdicts, key=lambda each: each.p):
        if candidate.name != "inconclusive":
            continue
        again = judge(candidate.case, replace(rule, rejected=rejected))
        if again.name == "regressed":
            final[candidate.case] = again
            rejected += 1
    return [final[each.case] for each in verdicts]
