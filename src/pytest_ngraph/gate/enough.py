"""Whether what was measured of a case beside its base is enough."""

from __future__ import annotations

from pytest_ngraph.comparison import Comparison
from pytest_ngraph.gate.decision import decide
from pytest_ngraph.gate.rule import LOOKS, Rule

MOST_MEASURED_S = 10.0
"""Seconds after which a case that is undecided stays so: all its launches together, but for the fewest that a
regression takes."""


def is_enough(comparison: Comparison, rule: Rule) -> bool:
    """Whether another launch is of no use, or more than may be spent."""
    launches = comparison.launches
    fresh = sum(launch.fresh for launch in launches)
    longest_s = max((launch.elapsed_s for launch in launches), default=0.0)
    late = comparison.elapsed_s + longest_s > MOST_MEASURED_S
    spent = fresh >= rule.most_launches or (late and fresh >= LOOKS[0])
    return spent or decide(launches, rule, comparison.placement) != "undecided"
