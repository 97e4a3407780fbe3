from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import Machine, exact, launch, paired_round, quad, scaled, shifted, swapped

from pytest_ngraph.comparison import PairedRound, is_disturbed
from pytest_ngraph.gate.launches import effect, effects


@pytest.mark.parametrize(
    ("fields", "disturbed"),
    [
        ({}, False),
        ({"steal_percent": 2.0, "pressure_percent": 10.0}, False),
        ({"steal_percent": 2.1}, True),
        ({"steal_percent": 2.1, "pressure_percent": 0.0}, True),
        ({"pressure_percent": 10.1}, True),
        ({"involuntary_switches": 100}, False),
        ({"involuntary_switches": 101}, True),
        ({"involuntary_switches": 101, "elapsed_s": 0.2}, False),
        ({"involuntary_switches": 101, "pressure_percent": 0.0}, False),
    ],
)
def test_what_the_kernel_reports_makes_a_round_disturbed(fields: dict[str, Any], disturbed: bool) -> None:
    assert is_disturbed(paired_round(0.0, **fields)) is disturbed


def test_delays_of_most_bursts_do_not_count() -> None:
    random = np.random.default_rng(3)

    def delay() -> float:
        return float(random.exponential(0.3) if random.random() < 0.6 else random.exponential(0.003))

    rounds = (
        PairedRound(quads=tuple(quad(0.05 + delay(), delay()) for _ in range(10)), elapsed_s=0.1) for _ in range(20)
    )
    assert effect(launch(*rounds)).log_ratio == pytest.approx(0.05, abs=0.001)


def test_speeds_that_change_from_round_to_round_give_a_wide_error() -> None:
    def error(*rounds: tuple[float, ...]) -> float:
        return effect(launch(*(paired_round(*each) for each in rounds))).standard_error

    within = error(*[(0.0, *(0.02,) * 9)] * 10)
    between = error((0.0,) * 10, *[(0.02,) * 10] * 9)
    assert between > 0.005
    assert within < 1e-9


@pytest.mark.parametrize("quads", [1, 4])
def test_the_error_is_that_of_many_launches(quads: int) -> None:
    """Each round has its own disturbance: the blocks must be the rounds, or the error comes out too small."""
    random = np.random.default_rng(7)

    def one() -> tuple[float, float]:
        centers = random.normal(0, 0.01, 15)
        rounds = (paired_round(*random.normal(center, 0.003, quads).tolist()) for center in centers)
        return effect(launch(*rounds))

    found = np.array([one() for _ in range(300)])
    assert np.median(found[:, 1]) == pytest.approx(np.std(found[:, 0]), rel=0.25)


def test_what_building_first_is_worth_cancels_however_long_each_build_ran() -> None:
    base_first, head_first = launch(*exact(0.03).rounds * 3), exact(-0.01, error=0.004)
    both = replace(base_first, builds=base_first.builds + head_first.builds)
    assert effect(both).log_ratio == pytest.approx(0.01)
    errors = [effect(base_first).standard_error, effect(head_first).standard_error]
    assert effect(both).standard_error == pytest.approx(math.hypot(*errors) / 2)


def test_one_round_draws_from_its_quads_and_one_quad_has_no_error() -> None:
    assert effect(launch(paired_round(0.0, 0.01, 0.02))).standard_error > 0.003
    assert effects([launch(paired_round(0.01)), launch(), exact(0.02)]) == [effect(exact(0.02))]


def test_the_fastest_quarter_counts_whatever_the_rounds_sizes() -> None:
    # Two and a half of ten bursts count: two took 1 % longer than the base's, half of one 2 % longer.
    sizes = launch(paired_round(0.01), paired_round(0.02, 0.03), paired_round(0.04, 0.05))
    assert effect(sizes).log_ratio == pytest.approx((2 * 0.01 + 0.5 * 0.02) / 2.5)


@given(st.integers(0, 1000), st.floats(-0.5, 0.5), st.sampled_from([1e-6, 1e-3, 7.0, 1e3]))
def test_effect_follows_its_quads(seed: int, by: float, unit: float) -> None:
    one = next(Machine(random=np.random.default_rng(seed), quads=3).launches(0.0))
    ratio, error = effect(one)
    assert math.isfinite(error)
    assert effect(shifted(one, by)) == pytest.approx((ratio + by, error), abs=1e-9)
    assert effect(scaled(one, unit)) == pytest.approx((ratio, error), abs=1e-9)
    assert effect(swapped(one)) == pytest.approx((-ratio, error), abs=1e-9)
