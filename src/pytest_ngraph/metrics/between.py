"""How much processes of the same code differ: the part of an uncertainty that the rounds of one process do not show.

A process draws its place in memory once, and a machine is not the same on two days. So a decision takes the sum of two
parts: the error within the processes that were measured, and what other processes would have shown. This file is the
one definition of the second part, and of the sum.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

from pytest_ngraph.metrics.student import t_quantile, t_tail
from pytest_ngraph.stats import LEVEL, Estimate

TAIL = (1 - LEVEL) / 2
"""The probability at either side of an interval."""
NORMAL = NormalDist().inv_cdf(1 - TAIL)
"""By how many standard errors an interval reaches to either side, where the error is known."""
MANY = 1e6
"""Degrees of freedom from which Student's t is the normal distribution."""
MOST_DOF = 8.0
"""The most degrees of freedom, however much was seen: cells of one machine differ in spread, so that a cell's own
launches must count."""
LEAST_SPREAD = 0.0005
"""The least deviation that is believed: no machine's processes agree better, except by chance."""


class Spread(NamedTuple):
    """A standard deviation, and the degrees of freedom with which it is known."""

    deviation: float
    dof: float


NO_SPREAD = Spread(0.0, MANY)

PAIR = Spread(0.016, 4)
"""Log ratios of the times of two processes that run the same code in turn, their threads bound to cores: on machines
in general."""
RUN = Spread(0.03, 3)
"""Logarithms of the times of the same code in runs on different days: on machines in general."""


def total(spreads: Iterable[Spread]) -> Spread:
    """Return the spread of a sum of independent parts; its degrees of freedom after Welch and Satterthwaite."""
    parts = [each for each in spreads if each.deviation]
    variance = math.fsum(each.deviation**2 for each in parts)
    if not variance:
        return NO_SPREAD
    dof = 1 / math.fsum((each.deviation**2 / variance) ** 2 / each.dof for each in parts)
    return Spread(math.sqrt(variance), min(MANY, dof))


class Squares:
    """A sum of squares with its degrees of freedom."""

    def __init__(self) -> None:
        self._sum = self._dof = 0.0

    def add(self, squares: float, dof: int) -> None:
        self._sum += squares
        self._dof += dof

    def moderating(self, prior: Spread, most: float = math.inf) -> Spread:
        """Return the prior's spread, moderated by these squares, which count at most as `most` degrees of freedom."""
        if not self._dof:
            return prior
        dof = min(self._dof, most)
        variance = (prior.dof * prior.deviation**2 + dof * self._sum / self._dof) / (prior.dof + dof)
        return Spread(max(LEAST_SPREAD, math.sqrt(variance)), min(max(MOST_DOF, prior.dof), prior.dof + dof))


@dataclass(frozen=True, slots=True)
class Between:
    """How much the logarithm of a case's seconds per iteration differs from process to process.

    Attributes:
        process: from one process to another in the same session.
        session: what all processes of a session have in common. It cancels in ratios within a session.
        source: where this is known from, in words.
    """

    process: Spread
    session: Spread
    source: str

    def of(self, weights: Iterable[float], sessions: Iterable[str] = ()) -> Spread:
        """Return the spread of a weighted sum of the logarithms of times, each of a process of its own.

        Args:
            sessions: in which session each time was measured; all in the same where none are given.
        """
        each = list(weights)
        shares: dict[str, float] = defaultdict(float)
        for weight, session in zip(each, list(sessions) or [""] * len(each), strict=True):
            shares[session] += weight
        own = math.hypot(*each) * self.process.deviation
        shared = math.hypot(*shares.values()) * self.session.deviation
        return total([Spread(own, self.process.dof), Spread(shared, self.session.dof)])

    def of_ratio(self, one: str, other: str) -> Spread:
        """Return the spread of the logarithm of a ratio of two cases' times, each measured in one of these sessions."""
        return self.pair if one == other else self.of((1.0, -1.0), (one, other))

    @property
    def pair(self) -> Spread:
        """The spread of the logarithm of a ratio of two cases' times, such as a speedup."""
        return self.of((1.0, -1.0))

    @property
    def pair_percent(self) -> float:
        """By how many percent such a ratio may be off at 95 %, however well it was measured."""
        return 100 * math.expm1(Uncertainty(0.0, self.pair).reach())


IN_GENERAL = Between(
    process=Spread(PAIR.deviation / math.sqrt(2), PAIR.dof),
    session=Spread(math.sqrt(RUN.deviation**2 - PAIR.deviation**2 / 2), RUN.dof),
    source="as on machines in general (--ngraph-calibrate measures this machine)",
)
"""For a machine of which nothing is known."""


class Uncertainty(NamedTuple):
    """The uncertainty of a number, in the scale in which it is judged.

    Attributes:
        within: standard error within the processes that were measured.
        between: what other processes would have shown.
    """

    within: float
    between: Spread

    @property
    def _whole(self) -> Spread:
        return total([Spread(self.within, MANY), self.between])

    def p(self, distance: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true number is this far off, or farther."""
        whole = self._whole
        if not math.isfinite(whole.deviation):
            return 1.0
        if not whole.deviation:
            return 0.0 if distance >= 0 else 1.0
        return t_tail(distance / whole.deviation, whole.dof) if math.isfinite(distance) else float(distance < 0)

    def excludes(self, distance: float, level: float) -> bool:
        """Return whether `p` of this distance is at most `level`, which must be below 0.5.

        Mostly, that follows without `p`: the whole has no fewer degrees of freedom than the part with the fewest, and
        no more than the normal distribution.
        """
        deviation = math.sqrt(self.within**2 + self.between.deviation**2)
        if not 0 < deviation < math.inf or not 0 < distance < math.inf:
            return self.p(distance) <= level
        if distance > t_quantile(level, min(MANY, self.between.dof)) * deviation:
            return True
        return distance > t_quantile(level, MANY) * deviation and self.p(distance) <= level

    def reach(self, tail: float = TAIL) -> float:
        """Return how far off the true number may be on one side, with the probability `tail` that it is farther."""
        whole = self._whole
        return t_quantile(tail, whole.dof) * whole.deviation if whole.deviation else 0.0


def log_distance(value: float, bound: float) -> float:
    """Return the distance of a bound from a positive value, as a logarithm; infinite where the bound is unknown."""
    return abs(math.log(bound / value)) if 0 < bound < math.inf else math.inf


def of_ratio(above: Estimate, below: Estimate, spread: Spread) -> Uncertainty:
    """Return how uncertain it is that the first of two positive numbers is above the second, on the logarithmic scale.

    Args:
        above, below: measured independently.
        spread: of the logarithm of their ratio between processes.
    """
    within = math.hypot(log_distance(above.value, above.low), log_distance(below.value, below.high))
    return Uncertainty(within / NORMAL, spread)


def surely_above(
    best: Estimate,
    others: Sequence[Estimate],
    between: Between,
    steepness: Sequence[float] = (),
    sessions: Sequence[str] = (),
) -> list[bool]:
    """Return of which other cases' throughputs the highest one is surely above.

    The highest is compared with each at the level that is left for it (Bonferroni), so that at most 5 in 100 claims to
    be above all are wrong.

    Args:
        steepness: by how many percent each changes where a call takes 1 % longer, the highest first; 1 if not given.
        sessions: in which session each was measured, the highest first; all in the same if not given.
    """
    level = (1 - LEVEL) / max(1, len(others))
    own, *of_others = steepness or [1.0] * (1 + len(others))
    here, *there = sessions or [""] * (1 + len(others))
    return [
        is_surely_above(best, each, between, level, (own, -its), (here, session))
        for each, its, session in zip(others, of_others, there, strict=True)
    ]


def is_surely_above(
    one: Estimate,
    other: Estimate,
    between: Between,
    level: float,
    weights: tuple[float, float] = (1.0, -1.0),
    sessions: tuple[str, str] = ("", ""),
) -> bool:
    """Return whether a case's throughput is above another's, with at most this probability of being wrong.

    Args:
        weights: with which the times of the two cases enter the ratio of what is compared.
        sessions: in which the two were measured.
    """
    if not 0 < other.value < one.value:
        return False
    spread = _spread(between, weights, sessions if len({*sessions}) > 1 else ())
    return of_ratio(one, other, spread).excludes(math.log(one.value / other.value), level)


@lru_cache
def _spread(between: Between, weights: tuple[float, float], sessions: tuple[str, ...]) -> Spread:
    return between.of(weights, sessions)


def of_difference(difference: Estimate, first_s: float, second_s: float, process: Spread) -> Estimate:
    """Return a difference of two processes' times with the interval that both parts of its uncertainty give.

    Args:
        difference: with the interval within the two processes.
        first_s, second_s: the two times.
        process: how much the logarithm of a time differs from process to process.
    """
    between = Spread(process.deviation * math.hypot(first_s, second_s), process.dof)
    value, low, high = difference
    if not (math.isfinite(low) and math.isfinite(high)):
        return difference
    below, above = (Uncertainty(abs(bound - value) / NORMAL, between).reach() for bound in (low, high))
    return Estimate(value, value - below, value + above)


def with_between(estimate: Estimate, spread: Spread) -> Estimate:
    """Return a positive number with the interval that both parts of its uncertainty give."""
    low, high = (
        Uncertainty(log_distance(estimate.value, bound) / NORMAL, spread) for bound in (estimate.low, estimate.high)
    )
    if not (math.isfinite(low.within) and math.isfinite(high.within)):
        return estimate
    return Estimate(estimate.value, estimate.value * math.exp(-low.reach()), estimate.value * math.exp(high.reach()))
