"""Tails of Student's t and of Fisher's F, for any positive degrees of freedom, whole or not."""

from __future__ import annotations

import math
from functools import lru_cache

ACCURACY = 1e-14
"""Relative accuracy of the continued fraction."""
MOST_TERMS = 10_000
TINY = 1e-300


def t_tail(t: float, dof: float) -> float:
    """Return the probability that Student's t exceeds `t`."""
    square = t * t
    if square < 1:  # for small t, dof / (dof + t^2) is so near 1 that digits would be lost
        half = (1 - incomplete_beta(0.5, dof / 2, square / (dof + square))) / 2
    else:
        half = incomplete_beta(dof / 2, 0.5, dof / (dof + square)) / 2
    return half if t > 0 else 1 - half


@lru_cache(maxsize=1024)
def t_quantile(tail: float, dof: float) -> float:
    """Return the value that Student's t exceeds with probability `tail`, which must be above 0 and below 1."""
    if tail > 0.5:
        return -t_quantile(1 - tail, dof)
    low, high = 0.0, 1.0
    while t_tail(high, dof) > tail:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        low, high = (middle, high) if t_tail(middle, dof) > tail else (low, middle)


def f_tail(ratio: float, dof: float, dof_below: float) -> float:
    """Return the probability that Fisher's F, a ratio of variances with these degrees of freedom, exceeds `ratio`."""
    return incomplete_beta(dof_below / 2, dof / 2, dof_below / (dof_below + dof * ratio))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for a, b > 0 and x from 0 to 1."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    # The continued fraction converges fast only below the mean; above it, use the symmetry.
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    log_scale = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(log_scale) / (a * _continued_fraction(a, b, x))


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Return the reciprocal of DLMF 8.17.22, evaluated by the modified Lentz method."""
    value = upper = 1.0
    lower = 0.0
    for term in range(1, MOST_TERMS):
        half, odd = divmod(term, 2)
        if odd:
            factor = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            factor = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / (1 + factor * lower or TINY)
        upper = 1 + factor / upper or TINY
        value *= lower * upper
        if abs(lower * upper - 1) < ACCURACY:
            break
    return value
