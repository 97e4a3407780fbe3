"""How much runs of the same code differ, estimated from all cases of a baseline together (empirical Bayes)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import Pooled, Prior, departure
from pytest_ngraph.metrics.between import RUN
from pytest_ngraph.stats import Floats

BETWEEN_RUNS = Prior(*RUN)
"""How much runs of the same code at different times differ, each in its own processes: 3 % on a quiet machine, more on
others. It has few degrees of freedom, so that the runs of a baseline outweigh it once there are several."""
LEAST_SPREAD = 0.002
"""The least spread that is believed: no two processes at different times agree better, except by chance."""
CANDIDATES = (3.0, 6.0, 12.0, 24.0, 48.0)
"""Degrees of freedom d0 over which their likelihood is averaged: few where cases differ much in spread."""
SHARED = 0.5
"""The correlation that is assumed, at least, of cases which share an error in each run: the machine's speed for times,
identity's own error for the ratios of a group. It says for how many independent cases they stand."""
CONVERGED = 1e-6
MOST_STEPS = 200

Key = TypeVar("Key", bound=Hashable)


class BetweenRuns(Generic[Key]):
    """The prior for each case's spread between runs, learned from the *other* cases.

    The model is that of Smyth (2004): a case's variance is s0^2 d0 / chi^2(d0), and the variance seen in its runs has a
    scaled F distribution around s0^2. Both are fitted by maximum likelihood, not by moments of log variances, which do
    not exist where two runs agree exactly. `BETWEEN_RUNS` takes part like one more case with its degrees of freedom.

    A case's own runs are left out, because `pooling` adds them: without other cases, the prior is `BETWEEN_RUNS`.
    """

    def __init__(self, effects: Mapping[Key, Mapping[int, Effect]], cluster: Mapping[Key, Hashable]) -> None:
        """Take the effects of each case by the number of their run.

        Args:
            cluster: of each case, what it shares an error with others by.
        """
        several = {key: own for key, own in effects.items() if len(own) > 1}
        runs = sorted({run for own in several.values() for run in own})
        logs, errors = np.zeros((2, len(runs), len(several)))
        seen = np.zeros((len(runs), len(several)), dtype=np.bool_)
        for row, own in enumerate(several.values()):
            places = np.searchsorted(runs, list(own))
            logs[places, row], errors[places, row] = np.array(list(own.values())).T
            seen[places, row] = True
        self._rows = {key: row for row, key in enumerate(several)}
        self._spread = SpreadBetweenRuns(logs, errors, seen, [cluster[key] for key in several])

    def departure(self, key: Key, newcomer: Effect, effects: Sequence[Effect]) -> Pooled:
        """Return how far a new effect of a case lies above the mean of its effects in one or more runs."""
        return departure(newcomer, effects, self.prior(key), cells=max(1, len(self._rows)))

    def prior(self, key: Key) -> Prior:
        """Return what the other cases, and machines in general, show of this case's spread."""
        return self._spread.prior(self._rows.get(key))


class SpreadBetweenRuns:
    """The priors of n cases that several runs have, as arrays.

    Args:
        logs, errors: of the effect of each case in each run, shape (runs, n).
        seen: whether the run has it, shape (runs, n); two or more of each case.
        clusters: of each case, what it shares an error with others by.
    """

    def __init__(self, logs: Floats, errors: Floats, seen: npt.NDArray[np.bool_], clusters: Sequence[Hashable]) -> None:
        counts = seen.sum(axis=0)
        means = np.where(seen, logs, 0.0).sum(axis=0) / counts
        residuals = np.where(seen, logs - means, 0.0)
        self._dofs: Floats = counts - 1.0
        self._variances = np.sum(residuals**2, axis=0) / self._dofs
        squares = np.where(seen, errors, 0.0) ** 2
        self._error = float(np.mean(squares.sum(axis=0) / counts)) if len(counts) else 0.0
        self._all_dofs = float(self._dofs.sum())
        self._share = _independent_share(residuals.T, clusters)

    def prior(self, row: int | None) -> Prior:
        """Return the prior of a case; of None, for one that not several runs have."""
        if self._all_dofs == (0 if row is None else self._dofs[row]):  # there are no others to learn from
            return BETWEEN_RUNS
        place = slice(0, 0) if row is None else slice(row, row + 1)
        own_dofs, terms = (np.append(each[place], [0.0] * (row is None)) for each in (self._dofs, self._fit[1]))
        spreads, dofs = self._priors(own_dofs, terms)
        return Prior(float(spreads[0]), float(dofs[0]))

    def priors(self) -> tuple[Floats, Floats]:
        """Return the spreads and degrees of freedom of the priors of all cases, shape (n,) each."""
        return self._priors(self._dofs, self._fit[1][:-1])

    def _priors(self, own_dofs: Floats, terms: Floats) -> tuple[Floats, Floats]:
        """Return the priors of cases with these degrees of freedom, and with these terms of the sum for s0^2."""
        seen = self._share * (self._all_dofs - own_dofs)
        typical = np.full(len(own_dofs), self._fit[0])
        # one step without the case; it makes no difference where there are many
        weights = self._share * own_dofs
        total = self._share * self._all_dofs + BETWEEN_RUNS.dof
        typical = np.where(own_dofs > 0, (typical * total - terms) / (total - weights), typical)
        spreads = np.sqrt(np.maximum(LEAST_SPREAD**2, typical - self._error))
        dofs = np.maximum(BETWEEN_RUNS.dof, 1 / (1 / self._heterogeneity + 1 / (BETWEEN_RUNS.dof + seen)))
        alone = seen <= 0
        return np.where(alone, BETWEEN_RUNS.spread, spreads), np.where(alone, BETWEEN_RUNS.dof, dofs)

    @cached_property
    def _fit(self) -> tuple[float, Floats]:
        return self._typical_variance(self._heterogeneity)

    @cached_property
    def _heterogeneity(self) -> float:
        """d0, as the harmonic mean over its likelihood."""
        logs = np.array([self._log_likelihood(dof) for dof in CANDIDATES])
        weights = np.exp(logs - logs.max())
        return float(weights.sum() / np.sum(weights / CANDIDATES))

    def _log_likelihood(self, prior_dof: float) -> float:
        """Return the logarithm of the density of the variances seen, up to a constant, at the best s0^2."""
        scale, _ = self._typical_variance(prior_dof)
        total = 0.0
        for dof in np.unique(self._dofs).tolist():
            ratios = dof * self._variances[self._dofs == dof] / (prior_dof * scale)
            each = math.lgamma((dof + prior_dof) / 2) - math.lgamma(prior_dof / 2)
            each -= dof / 2 * math.log(prior_dof * scale)
            total += each * len(ratios) - (dof + prior_dof) / 2 * float(np.log1p(ratios).sum())
        return total

    def _typical_variance(self, prior_dof: float) -> tuple[float, Floats]:
        """Return s0^2 for this d0, with the error within runs, and each case's share of the sum that it is the mean of.

        It is found by expectation and maximization. Cases that spread unusually much count less.
        """
        dofs = np.append(self._dofs, BETWEEN_RUNS.dof)
        variances = np.append(self._variances, BETWEEN_RUNS.spread**2 + self._error)
        counts = np.append(self._share * self._dofs, BETWEEN_RUNS.dof)
        found, terms = 0.0, counts * variances
        for _ in range(MOST_STEPS):
            before, found = found, float(terms.sum() / counts.sum())
            if abs(found - before) <= CONVERGED * found:
                break
            terms = counts * variances * (dofs + prior_dof) / (prior_dof + dofs * variances / found)
        return found, terms


def _independent_share(residuals: Floats, clusters: Sequence[Hashable]) -> float:
    """Return for how many independent cases each of these stands, at most 1.

    Variances of correlated residuals are correlated by the square of that. The correlation of any two is estimated as
    the average over all pairs; within a cluster, it is at least `SHARED`.
    """
    count = len(residuals)
    if not count:
        return 1.0
    norms = np.linalg.norm(residuals, axis=1)
    known = residuals[norms > 0] / norms[norms > 0][:, None]
    pairs = len(known) * (len(known) - 1)
    common = (float(np.sum(known.sum(axis=0) ** 2)) - len(known)) / pairs if pairs else 0.0
    common = min(1.0, max(0.0, common))
    sizes = Counter(clusters).values()
    inside = sum(size * (size - 1) for size in sizes)
    outside = count * (count - 1) - inside
    return count / (count + inside * max(SHARED, common) ** 2 + outside * common**2)
