"""Tails of Student's t and of Fisher's F, for any positive degrees of freedom, whole or not."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pytest_ngraph.stats import Floats

ACCURACY = 1e-14
"""Relative accuracy of the continued fraction."""
MOST_TERMS = 10_000
STEP = 1e-12
"""Relative size of the last step to a quantile: the next one would be its square."""
MOST_STEPS = 100
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
    t = high
    for _ in range(MOST_STEPS):  # Newton's method for the logarithm of the tail; where it leaves the bracket, halving
        found = t_tail(t, dof)
        low, high = (t, high) if found > tail else (low, t)
        step = (math.log(found) - math.log(tail)) * found / t_density(t, dof) if found else -t
        if abs(step) <= STEP * t:
            break
        t = t + step if low < t + step < high else (low + high) / 2
    return t


def t_density(t: float, dof: float) -> float:
    """Return the probability density of Student's t."""
    log_scale = math.lgamma((dof + 1) / 2) - math.lgamma(dof / 2) - math.log(dof * math.pi) / 2
    return math.exp(log_scale - (dof + 1) / 2 * math.log1p(t * t / dof))


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


def t_tails(t: Floats, dof: Floats) -> Floats:
    """Return `t_tail` of n values; shape (n,) each."""
    square = t * t
    small = square < 1
    ones, share = np.full_like(dof, 0.5), square / (dof + square)
    near = (1 - incomplete_betas(ones[small], dof[small] / 2, share[small])) / 2
    far = incomplete_betas(dof[~small] / 2, ones[~small], (dof / (dof + square))[~small]) / 2
    halves = np.empty_like(t)
    halves[small], halves[~small] = near, far
    tails: Floats = np.where(t > 0, halves, 1 - halves)
    return tails


def f_tails(ratio: Floats, dof: Floats, dof_below: Floats) -> Floats:
    """Return `f_tail` of n values; shape (n,) each."""
    return incomplete_betas(dof_below / 2, dof / 2, dof_below / (dof_below + dof * ratio))


def incomplete_betas(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return `incomplete_beta` of n values; shape (n,) each."""
    found = (x >= 1).astype(np.float64)
    inside = (x > 0) & (x < 1)
    a, b, x = a[inside], b[inside], x[inside]
    beyond = x > (a + 1) / (a + b + 2)
    a, b, x = np.where(beyond, b, a), np.where(beyond, a, b), np.where(beyond, 1 - x, x)
    log_scale = a * np.log(x) + b * np.log1p(-x) + _log_gammas(a + b) - _log_gammas(a) - _log_gammas(b)
    values = np.exp(log_scale) / (a * _continued_fractions(a, b, x))
    found[inside] = np.where(beyond, 1 - values, values)
    return found


def _log_gammas(values: Floats) -> Floats:
    unique, places = np.unique(values, return_inverse=True)
    logs: Floats = np.array([math.lgamma(value) for value in unique.tolist()])[places]
    return logs


def _continued_fractions(a: Floats, b: Floats, x: Floats) -> Floats:
    """Return `_continued_fraction` of n values. Those that have converged take no further part."""
    found = np.ones_like(x)
    left = np.arange(len(x))
    value, upper, lower = np.ones_like(x), np.ones_like(x), np.zeros_like(x)
    for term in range(1, MOST_TERMS):
        half, odd = divmod(term, 2)
        if odd:
            factor = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            factor = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / _never_zero(1 + factor * lower)
        upper = _never_zero(1 + factor / upper)
        value = value * lower * upper
        goes_on = np.abs(lower * upper - 1) >= ACCURACY
        if not goes_on.all():
            found[left[~goes_on]] = value[~goes_on]
            left = left[goes_on]
            a, b, x, value, upper, lower = (each[goes_on] for each in (a, b, x, value, upper, lower))
        if not len(left):
            break
    found[left] = value
    return found


def _never_zero(values: Floats) -> Floats:
    return np.where(values == 0, TINY, values)
