"""The stopping rule, simulated as `tools/stopping_coverage.py` does."""

from __future__ import annotations

import math

import pytest
import stopping_coverage
from stopping_coverage import after_every_round, ended, of_rounds, planned

from pytest_ngraph.stats import median_interval


@pytest.mark.parametrize("correlation", [0.0, 0.5])
@pytest.mark.parametrize("spread", [0.01, 0.02])
def test_when_the_rounds_end_the_interval_covers_as_often_as_it_says(correlation: float, spread: float) -> None:
    found = ended(stopping_coverage.rounds(correlation, spread, (600, 100)), planned, of_rounds)
    error = math.sqrt(0.94 * 0.06 / 600)
    assert found.covered >= 0.94 - 2 * error


def test_looking_after_every_round_covers_too_rarely() -> None:
    every = stopping_coverage.rounds(0.5, 0.02, (300, 100))
    assert ended(every, after_every_round, median_interval).covered < 0.85


def test_the_rows_have_both_rules() -> None:
    label, covered, rounds, naive, its_rounds = stopping_coverage.row(0.0, 0.005, 20)
    assert (label, naive[-1], covered[-1]) == ("0.0, 0.5%", "%", "%")
    assert 12 <= int(rounds) <= 48
    assert 6 <= int(its_rounds) < int(rounds)
