from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.metrics.student import f_tail, f_tails, incomplete_beta, t_quantile, t_tail, t_tails


@pytest.mark.parametrize(
    ("dof", "tail", "quantile"),
    [
        (1, 0.05, 6.314),
        (1, 0.0005, 636.62),
        (2, 0.01, 6.965),
        (4, 0.05, 2.132),
        (5, 0.005, 4.032),
        (10, 0.001, 4.144),
        (30, 0.0005, 3.646),
        (120, 0.025, 1.980),
        (1e6, 0.05, 1.645),
    ],
)
def test_quantiles_of_students_t_as_tabulated(dof: float, tail: float, quantile: float) -> None:
    assert t_quantile(tail, dof) == pytest.approx(quantile, rel=3e-4)
    assert t_quantile(1 - tail, dof) == pytest.approx(-quantile, rel=3e-4)


@pytest.mark.parametrize(
    ("dof", "dof_below", "tail", "quantile"),
    [(1, 1, 0.05, 161.45), (2, 4, 0.05, 6.944), (3, 10, 0.01, 6.552), (7, 4, 0.05, 6.094), (10, 10, 0.01, 4.849)],
)
def test_tails_of_f_as_tabulated(dof: float, dof_below: float, tail: float, quantile: float) -> None:
    assert f_tail(quantile, dof, dof_below) == pytest.approx(tail, rel=1e-3)


@given(st.floats(-50, 50))
def test_with_one_degree_of_freedom_it_is_cauchys(t: float) -> None:
    assert t_tail(t, 1) == pytest.approx(0.5 - math.atan(t) / math.pi, abs=1e-9)


@given(st.floats(0.3, 200), st.floats(1e-9, 1 - 1e-6))
def test_quantile_inverts_tail(dof: float, tail: float) -> None:
    assert t_tail(t_quantile(tail, dof), dof) == pytest.approx(tail, rel=1e-6)


@pytest.mark.parametrize("dof", [1, 2.5, 7.5, 200, 1e6])
@pytest.mark.parametrize("tail", [0.5, 0.499999, 1e-3, 1e-12, 1e-100])
def test_a_quantile_is_exact_however_far_out(dof: float, tail: float) -> None:
    found = t_quantile(tail, dof)
    assert t_tail(found * (1 - 1e-9) - 1e-9, dof) > tail > t_tail(found * (1 + 1e-9) + 1e-9, dof)


@given(st.floats(0.01, 30), st.floats(0.5, 100))
def test_a_squared_t_is_an_f(t: float, dof: float) -> None:
    assert f_tail(t * t, 1, dof) == pytest.approx(2 * t_tail(t, dof), rel=1e-9)


def test_incomplete_beta_at_its_ends() -> None:
    assert incomplete_beta(2, 3, 0) == 0
    assert incomplete_beta(2, 3, 1) == 1
    assert incomplete_beta(3, 3, 0.5) == pytest.approx(0.5)
    assert f_tail(math.inf, 3, 4) == 0


DOF = st.floats(0.3, 1e5)


@given(st.lists(st.tuples(st.floats(-1e4, 1e4), DOF), min_size=1, max_size=30))
def test_many_tails_of_t_are_each_as_alone(values: list[tuple[float, float]]) -> None:
    tails = [t_tail(t, dof) for t, dof in values]
    assert t_tails(*np.array(values).T) == pytest.approx(tails, rel=1e-9, abs=1e-300)


@given(st.lists(st.tuples(st.floats(0, 1e6), DOF, DOF), min_size=1, max_size=30))
def test_many_tails_of_f_are_each_as_alone(values: list[tuple[float, float, float]]) -> None:
    tails = [f_tail(*each) for each in values]
    assert f_tails(*np.array(values).T) == pytest.approx(tails, rel=1e-7, abs=1e-12)


def test_no_tails() -> None:
    assert t_tails(np.empty(0), np.empty(0)).shape == (0,)
