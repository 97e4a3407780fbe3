"""Speedups of arms that took turns, simulated as `tools/paired_ratios.py` does."""

from __future__ import annotations

import math

import paired_ratios
import pytest
from paired_ratios import alone, found, of_stores, simulated

TRIALS = 400


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_the_interval_of_a_speedup_covers_as_often_as_it_says(correlation: float, share: float) -> None:
    in_turn = found([simulated(correlation, share, trial) for trial in range(TRIALS)])
    assert in_turn.covered >= 0.94 - 2 * math.sqrt(0.94 * 0.06 / TRIALS)


def test_what_slows_all_arms_makes_the_interval_narrower() -> None:
    groups = [simulated(0.3, 0.9, trial) for trial in range(100)]
    assert found(groups).width < 0.7 * found([alone(group) for group in groups]).width


def test_without_a_shared_disturbance_nothing_is_gained() -> None:
    groups = [simulated(0.0, 0.0, trial) for trial in range(100)]
    assert found(groups).width == pytest.approx(found([alone(group) for group in groups]).width, rel=0.15)


def test_the_rows_say_how_often_and_how_wide() -> None:
    label, in_turn, apart, width, rounds = paired_ratios.row(0.5, 0.5, 10)
    assert (label, in_turn[-1], apart[-1]) == ("0.5, 50%", "%", "%")
    assert 0 < float(width) < 1.5
    assert 12 <= int(rounds) <= 100


def test_records_of_a_store_have_a_row_for_each_device() -> None:
    groups = [simulated(0.3, 0.9, trial) for trial in range(5)]
    [(device, count, width)] = of_stores([record for group in groups for record in group])
    assert (device, count) == ("cpu", "5")
    assert float(width) < 1
    assert of_stores(alone(groups[0])) == []
