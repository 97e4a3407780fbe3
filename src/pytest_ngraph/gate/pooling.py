"""Pool several launches. They differ by more than the error within each: a build gets its place in memory once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.metrics.student import f_tail, t_quantile, t_tail

IMPROBABLE = 0.25
"""The prior loses weight where launches spread so much that, by the prior, fewer than this share of cells would do so.

Chosen by simulation: it halves the false alarms of cells that spread five times as much as the prior says, and costs
cells that spread as the prior says half a percentage point of power.
"""


class Prior(NamedTuple):
    """What is known of a machine beforehand.

    Attributes:
        spread: standard deviation of log ratios between launches, above 0.
        dof: how many degrees of freedom that is worth.
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
        """Return the one-sided p-value of the hypothesis that the true log ratio is `limit` or less."""
        return t_tail((self.mean - limit) / self.standard_error, self.dof)

    def p_below(self, limit: float) -> float:
        """Return the one-sided p-value of the hypothesis that the true log ratio is `limit` or more."""
        return t_tail((limit - self.mean) / self.standard_error, self.dof)

    def low(self, tail: float) -> float:
        """Return the bound below which the true value lies with probability `tail`."""
        return self.mean - t_quantile(tail, self.dof) * self.standard_error

    def high(self, tail: float) -> float:
        """Return the bound above which the true value lies with probability `tail`."""
        return self.mean + t_quantile(tail, self.dof) * self.standard_error

    def extended(self, launches: int) -> Pooled:
        """Return what to expect of this many launches in total, if all spread as these do."""
        error = self.standard_error * math.sqrt(self.launches / launches)
        return Pooled(self.mean, error, self.dof + launches - self.launches, launches)


def pool(effects: Sequence[Effect], prior: Prior) -> Pooled:
    """Return the mean over one or more launches, each weighted by 1 / (spread^2 + standard error^2).

    Its variance is that of Hartung and Knapp (2001), scaled by how much the launches really differ. The scale is
    moderated by the prior as in Smyth (2004): (dof0 + sum of squares) / (dof0 + n - 1). So a single launch already has
    a valid interval, and with many launches the prior hardly counts.
    """
    mean, scale, precision, dof = _moderated(effects, prior)
    return Pooled(mean, math.sqrt(scale / precision), dof, len(effects))


def departure(newcomer: Effect, effects: Sequence[Effect], prior: Prior, cells: int = 1) -> Pooled:
    """Return how far a new effect lies above the mean of one or more others.

    The new one has an error of its own, and the same spread as the others. Here an effect may be any logarithm, such as
    that of a run's time.

    Args:
        cells: the number of cells that the prior was learned from. Of many, some spread much by chance.
    """
    mean, scale, precision, dof = _moderated(effects, prior, IMPROBABLE / cells)
    variance = prior.spread**2 + newcomer.standard_error**2 + 1 / precision
    return Pooled(newcomer.log_ratio - mean, math.sqrt(scale * variance), dof, len(effects))


def _moderated(
    effects: Sequence[Effect], prior: Prior, improbable: float = IMPROBABLE
) -> tuple[float, float, float, float]:
    """Return the weighted mean, the moderated scale of the variances, the sum of weights and the degrees of freedom."""
    ratios, errors = np.array(effects).T
    precisions = 1 / (prior.spread**2 + errors**2)
    mean = float(precisions @ ratios / precisions.sum())
    squares = float(precisions @ (ratios - mean) ** 2)
    own_dof = len(effects) - 1
    prior_dof = prior.dof * _trust(squares, own_dof, prior, improbable)
    dof = prior_dof + own_dof
    return mean, (prior_dof + squares) / dof, float(precisions.sum()), dof


def _trust(squares: float, dof: int, prior: Prior, improbable: float) -> float:
    """Return the share of its weight that the prior keeps: 1, unless the launches differ improbably much by it."""
    return min(1.0, f_tail(squares / dof, dof, prior.dof) / improbable) if dof else 1.0


EXACTLY_EQUAL = Pooled(0.0, 0.0, math.inf, 0)
"""The log ratio of a head and a base that start from the same graph, weights and options."""


def combine(terms: Iterable[tuple[float, Pooled]]) -> Pooled:
    """Return the sum of weights times log ratios. They must be independent, so each may appear only once.

    Variances add; the degrees of freedom are those of Welch (1947) and Satterthwaite (1946). Terms that are known
    exactly add nothing to either. The launches of the sum are the fewest of any other term.
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
