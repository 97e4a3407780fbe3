"""Several launches taken together. They differ by more than each knows: a build draws its place in memory once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.student import f_tail, t_quantile, t_tail

IMPROBABLE = 0.25
"""Where the launches spread more than the prior lets this share of all cells spread, the prior loses weight.

Chosen by simulation: it halves the false alarms of cells that spread five times as much as the prior says, and costs
cells that spread as it says half a point of power.
"""


class Prior(NamedTuple):
    """What is known of a machine beforehand.

    spread: standard deviation between launches of log ratios, above 0. dof: how many degrees of freedom that is worth.
    """

    spread: float
    dof: float


@dataclass(frozen=True, slots=True)
class Pooled:
    """A log ratio known from several launches: Student's t with `dof` degrees of freedom around `mean`."""

    mean: float
    standard_error: float
    dof: float
    launches: int

    def p_above(self, limit: float) -> float:
        """One-sided p-value of the hypothesis that the true log ratio is `limit` or less."""
        return t_tail((self.mean - limit) / self.standard_error, self.dof)

    def p_below(self, limit: float) -> float:
        """One-sided p-value of the hypothesis that the true log ratio is `limit` or more."""
        return t_tail((limit - self.mean) / self.standard_error, self.dof)

    def low(self, tail: float) -> float:
        """The bound below which the true value lies with probability `tail`."""
        return self.mean - t_quantile(tail, self.dof) * self.standard_error

    def high(self, tail: float) -> float:
        """The bound above which the true value lies with probability `tail`."""
        return self.mean + t_quantile(tail, self.dof) * self.standard_error

    def extended(self, launches: int) -> Pooled:
        """What to expect of as many launches in all, should they spread as these do."""
        error = self.standard_error * math.sqrt(self.launches / launches)
        return Pooled(self.mean, error, self.dof + launches - self.launches, launches)


def pool(effects: Sequence[Effect], prior: Prior) -> Pooled:
    """The mean over launches, at least one, weighted by what is known of each: 1 / (spread^2 + standard error^2).

    Its variance is that of Hartung and Knapp (2001), scaled by how much the launches in fact differ, and the scale is
    moderated by the prior as in Smyth (2004): (dof0 + sum of squares) / (dof0 + n - 1). So a single launch has an
    honest interval already, and many speak for themselves.
    """
    mean, scale, precision, dof = _moderated(effects, prior)
    return Pooled(mean, math.sqrt(scale / precision), dof, len(effects))


def departure(newcomer: Effect, effects: Sequence[Effect], prior: Prior) -> Pooled:
    """How far one more lies above the mean of the others, at least one: it has an error of its own, and a spread as
    theirs. Here an effect may be any logarithm, such as that of a run's time."""
    mean, scale, precision, dof = _moderated(effects, prior)
    variance = prior.spread**2 + newcomer.standard_error**2 + 1 / precision
    return Pooled(newcomer.log_ratio - mean, math.sqrt(scale * variance), dof, len(effects))


def _moderated(effects: Sequence[Effect], prior: Prior) -> tuple[float, float, float, float]:
    """The weighted mean, the moderated scale of the variances, the sum of the weights, and the degrees of freedom."""
    ratios, errors = np.array(effects).T
    precisions = 1 / (prior.spread**2 + errors**2)
    mean = float(precisions @ ratios / precisions.sum())
    squares = float(precisions @ (ratios - mean) ** 2)
    own_dof = len(effects) - 1
    prior_dof = prior.dof * _trust(squares, own_dof, prior)
    dof = prior_dof + own_dof
    return mean, (prior_dof + squares) / dof, float(precisions.sum()), dof


def _trust(squares: float, dof: int, prior: Prior) -> float:
    """What of its weight the prior keeps: all, unless launches that it describes would hardly ever differ so much."""
    return min(1.0, f_tail(squares / dof, dof, prior.dof) / IMPROBABLE) if dof else 1.0


EXACTLY_EQUAL = Pooled(0.0, 0.0, math.inf, 0)
"""The log ratio of two that start from the same graph, weights and options."""


def combine(terms: Iterable[tuple[float, Pooled]]) -> Pooled:
    """The sum of weights times log ratios that are independent of each other: each is to come once.

    Variances add; the degrees of freedom are Welch's (1947) and Satterthwaite's (1946). What is known exactly adds
    nothing to either. launches: the fewest that one of the others rests on.
    """
    weighted = [(weight, pooled) for weight, pooled in terms if weight and pooled.standard_error]
    if not weighted:
        return EXACTLY_EQUAL
    variances = [(weight * pooled.standard_error) ** 2 for weight, pooled in weighted]
    total = math.fsum(variances)
    return Pooled(
        mean=math.fsum(weight * pooled.mean for weight, pooled in weighted),
        standard_error=math.sqrt(total),
        dof=1 / sum((v / total) ** 2 / pooled.dof for v, (_, pooled) in zip(variances, weighted, strict=True)),
        launches=min(pooled.launches for _, pooled in weighted),
    )
