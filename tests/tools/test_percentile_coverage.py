"""The intervals of percentiles and the gate's verdicts on them, simulated as `tools/percentile_coverage.py` does."""

from __future__ import annotations

import pytest
from percentile_coverage import CHANGED, EQUAL, alarms, coverage, normal, timer_s


def shares(row: list[str]) -> list[float]:
    return [float(cell.removesuffix("%")) / 100 for cell in row[1:]]


@pytest.mark.parametrize("kind", ["normal", "correlated", "clusters of two"])
def test_intervals_cover_as_often_as_they_say(kind: str) -> None:
    assert min(shares(coverage(kind, 200))) > 0.92


@pytest.mark.parametrize("kind", ["minority of 1 %", "clusters of five"])
def test_equal_code_is_not_called_regressed(kind: str) -> None:
    """By the spread of three launches alone, a percentile beside a jump would be called every thirtieth time."""
    assert max(shares(alarms(kind, EQUAL[kind], EQUAL[kind], 50))) <= 0.02


def test_a_slow_minority_is_found_where_it_is() -> None:
    p50, p90, _, p99 = shares(alarms("changed", normal, CHANGED["every 50th call is slow"], 20))
    assert (p50, p90, p99) == (0, 0, 1)


def test_the_timer_takes_time() -> None:
    assert timer_s() > 0
