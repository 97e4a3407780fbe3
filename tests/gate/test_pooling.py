from __future__ import annotations

import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.pooling import EXACTLY_EQUAL, Pooled, Prior, combine, departure, pool

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


POOLED = st.builds(
    Pooled, st.floats(-1, 1), st.floats(1e-4, 1), st.floats(1, 50).map(lambda dof: round(dof, 3)), st.integers(1, 8)
)
WEIGHTS = st.floats(-3, 3).filter(lambda weight: abs(weight) > 1e-3)
TERMS = st.lists(st.tuples(WEIGHTS, POOLED), min_size=1, max_size=6)


def test_by_hand() -> None:
    found = combine([(1.0, Pooled(0.05, 0.003, 4, 3)), (-2.0, Pooled(0.01, 0.002, 6, 5))])
    # Variances 9e-6 and 16e-6; degrees of freedom (25e-6)^2 / ((9e-6)^2 / 4 + (16e-6)^2 / 6).
    assert astuple(found) == pytest.approx((0.03, 0.005, 625 / (81 / 4 + 256 / 6), 3))


def test_equal_variances_add_their_degrees_of_freedom() -> None:
    one = Pooled(0.0, 0.004, 5, 4)
    assert combine([(1.0, one), (-1.0, one), (1.0, one), (-1.0, one)]).dof == pytest.approx(20)


def test_what_is_known_exactly_adds_nothing() -> None:
    one = Pooled(0.02, 0.004, 5, 4)
    assert astuple(combine([(1.0, one), (-1.0, EXACTLY_EQUAL)])) == pytest.approx(astuple(one))
    assert combine([(1.0, EXACTLY_EQUAL), (-1.0, EXACTLY_EQUAL)]) == EXACTLY_EQUAL
    assert combine([]) == EXACTLY_EQUAL


@given(TERMS)
def test_degrees_of_freedom_lie_between_the_fewest_and_all_together(terms: list[tuple[float, Pooled]]) -> None:
    dof = [pooled.dof for _, pooled in terms]
    assert min(dof) * (1 - 1e-9) <= combine(terms).dof <= sum(dof) * (1 + 1e-9)


@given(TERMS, TERMS)
def test_a_sum_of_sums_has_the_mean_and_variance_of_all(
    one: list[tuple[float, Pooled]], other: list[tuple[float, Pooled]]
) -> None:
    nested, flat = combine([(1.0, combine(one)), (1.0, combine(other))]), combine([*one, *other])
    assert nested.mean == pytest.approx(flat.mean, abs=1e-9)
    assert nested.standard_error == pytest.approx(flat.standard_error)


@given(TERMS)
def test_the_opposite_is_as_sure(terms: list[tuple[float, Pooled]]) -> None:
    found, opposite = combine(terms), combine([(-weight, pooled) for weight, pooled in terms])
    assert opposite.p_below(-0.1) == pytest.approx(found.p_above(0.1), rel=1e-9)
    assert math.isclose(opposite.low(0.05), -found.high(0.05), abs_tol=1e-9)
