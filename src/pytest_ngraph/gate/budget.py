"""How much may be spent on one case."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ngraph.comparison import Launch
from pytest_ngraph.gate.rule import LOOKS, Rule

MOST_MEASURED_S = 10.0
"""Seconds of all launches together, but for the fewest that a regression takes."""


def is_spent(launches: Sequence[Launch], rule: Rule) -> bool:
    """Whether no launch may be added. That is a matter of their number and length, never of what they found."""
    fresh = sum(launch.fresh for launch in launches)
    seconds = [launch.elapsed_s for launch in launches]
    late = sum(seconds) + max(seconds, default=0.0) > MOST_MEASURED_S
    return fresh >= rule.most_launches or (late and fresh >= LOOKS[0])
