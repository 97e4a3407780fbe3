"""Whether a question about two numbers is settled while they are still being measured, so that rounds may end.

What is measured is looked at several times. At each look, the error within the processes counts with an interval that
holds at all looks together: the level is shared over them, `alpha / (j (j + 1))` for the j-th look, which sums to alpha
however many there are (alpha spending, Lan and DeMets, "Discrete sequential boundaries for clinical trials", 1983). The
part that other processes would add (`between`) is the same at every look, since a process is drawn once. So it is not
widened.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

from pytest_ngraph.metrics.between import NORMAL, TAIL, Spread, Uncertainty, log_distance
from pytest_ngraph.stats import Estimate

Settled = Literal["sure", "near", "hopeless", "open"]
"""sure: the number is surely on its side. near: surely not beyond the other side by more than is tolerated. hopeless:
no further rounds can show either, because other processes may differ by more. open: further rounds may show it."""


def widening(look: int) -> float:
    """Return by how much the error at this look is widened, so that an interval holds at all looks; they count from 1.

    The factor is that of a 95 % interval, which is a little more than one-sided tests at smaller levels need.
    """
    return NormalDist().inv_cdf(1 - TAIL / (look * (look + 1))) / NORMAL


def settled(
    gap: float, towards: float, away: float, spread: Spread, level: float, look: int, tolerance: float = 0.0
) -> Settled:
    """Return whether a number is surely on the side of a bound on which it was measured.

    Args:
        gap: distance from the number to the bound.
        towards: standard error of the number on the side of the bound, within its processes.
        away: standard error on the other side.
        spread: what other processes would have shown.
        level: probability of being wrong that is left for this question.
        look: which look this is, from 1 on.
        tolerance: how far beyond the bound the number may be without mattering.
    """
    factor = widening(look)
    now = Uncertainty(factor * towards, spread)
    if now.p(gap) <= level:
        return "sure"
    if tolerance and now.p(gap + tolerance) <= level:
        return "near"
    farthest = max(gap + factor * NORMAL * away, factor * NORMAL * towards - gap)
    return "open" if Uncertainty(0.0, spread).p(farthest + tolerance) <= level else "hopeless"


def order_settled(
    above: Estimate, below: Estimate, spread: Spread, level: float, look: int, tolerance: float = 0.0
) -> Settled:
    """Return whether the first of two positive numbers, the higher one, is surely above the second.

    Args:
        above, below: measured independently.
        spread: of the logarithm of their ratio between processes.
        level, look: as in `settled`.
        tolerance: the share by which the second may be above the first without mattering.
    """
    towards = math.hypot(log_distance(above.value, above.low), log_distance(below.value, below.high)) / NORMAL
    away = math.hypot(log_distance(above.value, above.high), log_distance(below.value, below.low)) / NORMAL
    gap = math.log(above.value / below.value)
    return settled(gap, towards, away, spread, level, look, math.log1p(tolerance))


def side_settled(value: Estimate, bound: float, spread: Spread, level: float, look: int) -> Settled:
    """Return whether a positive number is surely on the side of a positive bound on which its value lies."""
    low, high = (log_distance(value.value, end) / NORMAL for end in (value.low, value.high))
    towards, away = (high, low) if bound > value.value else (low, high)
    return settled(abs(math.log(bound / value.value)), towards, away, spread, level, look)
