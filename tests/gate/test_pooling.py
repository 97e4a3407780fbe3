from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import Pooled, Prior, departure, pool

PRIOR = Prior(0.004, 4)


def test_one_launch_is_as_uncertain_as_the_prior_says() -> None:
    pooled = pool([Effect(0.02, 0.003)], PRIOR)
    assert astuple(pooled) == pytest.approx((0.02, 0.005, 4, 1))


def test_variance_is_moderated_as_by_smyth() -> None:
    ratios, error = [0.010, 0.013, 0.016, 0.021], 0.003
    pooled = pool([Effect(ratio, error) for ratio in ratios], PRIOR)
    squares = sum((ratio - 0.015) ** 2 for ratio in ratios)
    variance = (4 * (0.004**2 + error**2) + squares) / (4 + 3)
    assert astuple(pooled) == pytest.approx((0.015, math.sqrt(variance / 4), 7, 4))


def test_a_launch_that_knows_little_counts_little() -> None:
    good = [Effect(0.0, 0.001)] * 4
    assert pool([*good, Effect(0.1, 0.05)], PRIOR).mean < 0.001
    assert pool([*good, Effect(0.1, 0.001)], PRIOR).mean == pytest.approx(0.02)


def test_launches_that_differ_too_much_for_the_prior_speak_for_themselves() -> None:
    wild = [Effect(ratio, 0.001) for ratio in (-0.2, 0.0, 0.1, 0.1)]
    pooled = pool(wild, PRIOR)
    assert pooled.dof == pytest.approx(3, abs=0.01)
    assert pooled.standard_error == pytest.approx(np.std([-0.2, 0.0, 0.1, 0.1], ddof=1) / 2, rel=0.01)


def test_bounds_and_p_values_agree() -> None:
    pooled = pool([Effect(ratio, 0.002) for ratio in (0.01, 0.02, 0.025)], PRIOR)
    assert pooled.p_above(pooled.low(0.001)) == pytest.approx(0.001)
    assert pooled.p_below(pooled.high(0.001)) == pytest.approx(0.001)
    assert pooled.low(0.3) < pooled.mean < pooled.high(0.3)


@pytest.mark.parametrize("spread", [0.002, 0.004])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_intervals_cover_the_truth(count: int, spread: float) -> None:
    random = np.random.default_rng(count)
    errors = random.uniform(0.001, 0.005, (2000, count))
    ratios = random.normal(0, np.hypot(spread, errors))
    pooled = (
        pool([Effect(*each) for each in zip(*row, strict=True)], PRIOR) for row in zip(ratios, errors, strict=True)
    )
    beyond = sum(each.low(0.05) > 0 for each in pooled) / 2000
    assert beyond < 0.065


def test_what_more_launches_would_bring() -> None:
    assert Pooled(0.01, 0.004, 5, 2).extended(8) == Pooled(0.01, 0.002, 11, 8)


def test_a_newcomer_adds_its_own_error_and_spread() -> None:
    found = departure(Effect(0.03, 0.003), [Effect(0.01, 0.003)], PRIOR)
    assert astuple(found) == pytest.approx((0.02, 0.005 * math.sqrt(2), 4, 1))
    many = [Effect(ratio, 0.003) for ratio in (0.008, 0.012)]
    pooled, further = pool(many, PRIOR), departure(Effect(0.03, 0.003), many, PRIOR)
    assert further.mean == pytest.approx(0.03 - pooled.mean)
    assert further.standard_error == pytest.approx(pooled.standard_error * math.sqrt(2 + 1))
