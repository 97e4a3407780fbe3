from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_ngraph.gate.launches import Effect
from pytest_ngraph.gate.stored.between_runs import BETWEEN_RUNS, LEAST_SPREAD, BetweenRuns
from pytest_ngraph.stats import Floats

ERROR = 0.0005


def learned(times: Floats, clusters: int | None = None) -> BetweenRuns[int]:
    """Return what is learned from log times of shape (cases, runs); every case is a cluster, or these many are made."""
    effects = {
        case: {run: Effect(time, ERROR) for run, time in enumerate(row)} for case, row in enumerate(times.tolist())
    }
    return BetweenRuns(effects, {case: case % (clusters or len(times)) for case in effects})


def alike(cases: int, runs: int, spread: float, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(0, spread, (cases, runs))


@pytest.mark.parametrize("runs", [1, 2, 7])
def test_a_case_alone_knows_only_what_is_known_of_machines(runs: int) -> None:
    assert learned(alike(1, runs, 0.01)).prior(0) == BETWEEN_RUNS


def test_single_runs_show_no_spread() -> None:
    assert learned(alike(20, 1, 0.01)).prior(3) == BETWEEN_RUNS


@pytest.mark.parametrize("spread", [0.005, 0.02, 0.1])
@pytest.mark.parametrize(("cases", "runs"), [(20, 4), (60, 2)])
def test_the_spread_is_that_of_the_cases(cases: int, runs: int, spread: float) -> None:
    priors = [learned(alike(cases, runs, spread, seed)).prior(0) for seed in range(20)]
    assert np.median([prior.spread for prior in priors]) == pytest.approx(spread, rel=0.2)
    assert np.median([prior.dof for prior in priors]) > 6


def test_cases_that_differ_in_spread_are_worth_less_to_each_other() -> None:
    random = np.random.default_rng(1)
    spreads = 0.02 / np.sqrt(random.chisquare(3, 200) / 3)
    different = learned(random.normal(0, 1, (200, 6)) * spreads[:, None]).prior(0)
    same = learned(alike(200, 6, 0.02)).prior(0)
    assert different.dof < 5 < 10 < same.dof
    assert different.spread == pytest.approx(0.02, rel=0.25)


def test_the_error_within_runs_is_no_spread_between_them() -> None:
    random = np.random.default_rng(2)
    effects = {
        case: {run: Effect(random.normal(0, math.hypot(0.01, 0.02)), 0.02) for run in range(5)} for case in range(60)
    }
    assert BetweenRuns(effects, {case: case for case in effects}).prior(0).spread == pytest.approx(0.01, rel=0.3)


def test_a_cases_own_runs_do_not_count_twice() -> None:
    times = alike(4, 3, 0.01)
    wild = times.copy()
    wild[0] *= 3
    assert learned(wild).prior(0).spread < 1.3 * learned(times).prior(0).spread
    assert learned(wild).prior(1).spread > 1.3 * learned(times).prior(1).spread


def test_what_is_shared_counts_once() -> None:
    own, shared = alike(20, 2, 0.002), alike(1, 2, 0.02, seed=5)
    assert learned(own + shared).prior(0).dof < BETWEEN_RUNS.dof + 1.5, (
        "one difference between two runs, seen twenty times"
    )
    assert learned(own, clusters=5).prior(0).dof < learned(own).prior(0).dof


def test_runs_that_agree_exactly_are_not_believed_to() -> None:
    found = learned(np.zeros((20, 5))).prior(0)
    assert LEAST_SPREAD <= found.spread < BETWEEN_RUNS.spread / 2


@given(
    st.integers(2, 12).flatmap(
        lambda runs: st.lists(st.lists(st.floats(-3, 3), min_size=runs, max_size=runs), min_size=1, max_size=8)
    )
)
def test_any_times_give_a_prior(times: list[list[float]]) -> None:
    found = learned(np.array(times))
    for case in range(len(times)):
        prior = found.prior(case)
        assert LEAST_SPREAD <= prior.spread < math.inf
        assert BETWEEN_RUNS.dof <= prior.dof < math.inf


@given(st.permutations(range(6)), st.floats(-5, 5))
def test_neither_the_order_of_runs_nor_the_level_of_times_matters(order: list[int], level: float) -> None:
    times = alike(5, 6, 0.02)
    one, other = learned(times).prior(2), learned(times[:, order] + level).prior(2)
    assert other == pytest.approx(one, rel=1e-3)
