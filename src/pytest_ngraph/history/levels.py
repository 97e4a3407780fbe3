"""How high some nights of a series lie over others, and how sure that is.

Nights have independent errors, and those beside one anchor share the error of the link to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pytest_ngraph.metrics.between import LEAST_SPREAD
from pytest_ngraph.stats import Floats

Places = npt.NDArray[np.intp]

LEAST = 2
"""Fewest nights on either side of a step: one bad night is no step."""
PRIOR_DOF = 8.0
"""Degrees of freedom that the known errors are worth, against what the nights show (`gate.rule.PRIORS`)."""
EFFICIENCY = 0.6
"""Degrees of freedom of the spread of differences between neighbours, a night. Extreme ones are cut, so that steps do
not count as noise."""
CUT = 3.0
FLOOR = LEAST_SPREAD
"""The least standard error that is believed; equal programs have none."""
ROUNDING = 1e-9
"""Of a share of weights, and of the difference of two logarithms. Below it, both sides are equal."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A series of n nights, as logarithms.

    Attributes:
        values: shape (n,).
        errors: their standard errors, each independent; None where they are not known, but equal.
        links: for each link between two anchors, the nights whose values go over it; shape (n,) each.
        link_errors: the standard error of each link, which these nights share. Infinite where the two anchors were
            never compared.
    """

    values: Floats
    errors: Floats | None
    links: tuple[npt.NDArray[np.bool_], ...] = ()
    link_errors: tuple[float, ...] = ()

    @property
    def weights(self) -> Floats:
        """Inverse variances."""
        if self.errors is None:
            return np.ones(len(self.values))
        weights: Floats = 1 / np.maximum(self.errors, FLOOR) ** 2
        return weights


def estimates(chain: Chain, noise: float, first: int, last: int, places: Places) -> tuple[Floats, Floats]:
    """Return the change at each of these places, from nights `first` to `last`, and its error.

    Nights that go over a link are as high as the link makes them: what they share is estimated along with the change
    (generalized least squares), so that a step does not seem to lie where both sides have as much of it.
    """
    links = [(link[first:last], error) for link, error in zip(chain.links, chain.link_errors, strict=True)]
    varying = [(link, error) for link, error in links if 0 < np.count_nonzero(link) < last - first]
    if not varying:
        return changes_between(chain, noise, np.full_like(places, first), places, np.full_like(places, last))
    weights = chain.weights[first:last] / noise**2
    beyond = np.array([link for link, _ in varying], dtype=np.float64).T
    shared = np.linalg.pinv(np.diag([error**-2 for _, error in varying]) + beyond.T @ (weights[:, None] * beyond))
    columns = np.column_stack((chain.values[first:last], np.ones(last - first)))
    # The inverse of the covariance matrix, times the values and times ones; with ones, steps and themselves (Woodbury).
    solved = weights[:, None] * (columns - beyond @ (shared @ (beyond.T @ (weights[:, None] * columns))))
    after = np.cumsum(solved[::-1], axis=0)[::-1][places - first]
    totals = solved.sum(axis=0)
    tails = np.cumsum((weights[:, None] * beyond)[::-1], axis=0)[::-1][places - first]
    squares = np.cumsum(weights[::-1])[::-1][places - first] - np.einsum("ij,jk,ik->i", tails, shared, tails)
    known = np.maximum(squares - after[:, 1] ** 2 / totals[1], ROUNDING * weights.sum())
    return (after[:, 0] - after[:, 1] * totals[0] / totals[1]) / known, 1 / np.sqrt(known)


def changes_between(chain: Chain, noise: float, first: Places, place: Places, last: Places) -> tuple[Floats, Floats]:
    """Return the change of the mean from nights `first` to `place` to nights `place` to `last`, and its error.

    The error of a link, which all nights share that go over it, counts by how much more of it one side has.
    """
    weights = chain.weights
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    products = np.concatenate(([0.0], np.cumsum(weights * chain.values)))
    before, after = sums[place] - sums[first], sums[last] - sums[place]
    changes = (products[last] - products[place]) / after - (products[place] - products[first]) / before
    variances = noise**2 * (1 / before + 1 / after)
    for link, error in zip(chain.links, chain.link_errors, strict=True):
        own = np.concatenate(([0.0], np.cumsum(weights * link)))
        share = np.abs((own[last] - own[place]) / after - (own[place] - own[first]) / before)
        variances = variances + (share**2 * error**2 if math.isfinite(error) else np.where(share > ROUNDING, error, 0))
    return changes, np.sqrt(variances)


def noise_of(chain: Chain) -> tuple[float, float]:
    """Return by which factor nights spread more than their errors say, and the degrees of freedom of that.

    It comes from the differences between neighbours (von Neumann 1941), which slow changes and steps hardly touch, and
    is moderated by the known errors as in Smyth (2004). Where errors are known, the factor is 1 or more. Where they are
    not, neighbours may be equal because a clock counts ticks. These do not say which differences are extreme, and a
    night is then known to within a tick, of which the standard deviation is the 1/sqrt(12)th part.
    """
    variances = 1 / chain.weights
    steps = np.abs(np.diff(chain.values)) / np.sqrt(variances[1:] + variances[:-1])
    steps = steps[~np.any([np.diff(link) for link in chain.links], axis=0)] if chain.links else steps
    prior = 0.0 if chain.errors is None else PRIOR_DOF
    if not len(steps):
        return 1.0, prior
    telling = steps if chain.errors is not None else steps[steps > ROUNDING]
    typical = float(np.median(telling)) / 0.6745 if len(telling) else 0.0
    cut = np.minimum(steps, CUT * typical)
    own = EFFICIENCY * len(steps)
    square = (prior + own * float(np.mean(cut**2))) / (prior + own)
    if chain.errors is None:
        tick = math.sqrt(2) * float(telling.min()) if 0 < len(telling) < len(steps) else 0.0
        return max(FLOOR, tick / math.sqrt(12), math.sqrt(square)), own
    return math.sqrt(max(1.0, square)), prior + own


def without_lone_nights(chain: Chain) -> Chain:
    """Return the series with each night moved to its neighbours that lies apart from both, beyond `CUT` errors."""
    count = len(chain.values)
    if count < 2 * LEAST:
        return chain
    noise, _ = noise_of(chain)
    places = np.arange(count)
    one = np.where(places == 0, 2, places - 1)
    other = np.where(places == count - 1, count - 3, places + 1)
    variances = 1 / chain.weights
    reach = CUT * noise * np.sqrt(variances + np.maximum(variances[one], variances[other]))
    low = np.minimum(chain.values[one], chain.values[other]) - reach
    high = np.maximum(chain.values[one], chain.values[other]) + reach
    return replace(chain, values=np.clip(chain.values, low, high))
