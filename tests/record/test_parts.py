"""What is known of a machine while a case was measured."""

from __future__ import annotations

import math

import pytest

from pytest_ngraph.record import Contention


@pytest.mark.parametrize(
    ("contention", "most"),
    [
        (Contention(), 1.0),
        (Contention(pressure_percent=5.0, steal_percent=1.0, others_on_gpu=0), 1.0),
        (Contention(pressure_percent=20.0), 2.5),
        (Contention(pressure_percent=75.0), 8.0),
        (Contention(pressure_percent=100.0), math.inf),
        (Contention(pressure_percent=20.0, steal_percent=5.0), math.inf),
        (Contention(throttled_rounds=1), math.inf),
        (Contention(others_on_gpu=2), math.inf),
    ],
)
def test_how_much_other_work_slowed_rounds_at_most(contention: Contention, most: float) -> None:
    assert contention.most_slowed == pytest.approx(most)
    assert contention.is_busy == (most > 1)
