from __future__ import annotations

import math
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.gate.pooling import EXACTLY_EQUAL, Pooled, combine

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
